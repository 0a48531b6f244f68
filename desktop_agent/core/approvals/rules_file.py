"""The user's lasting rules in `rules.toml`: read with every fault named, changed with everything else kept.

```toml
[[rule]]
id = "r-k3f9qx"
effect = "allow"            # allow, ask or forbid
kind = "command"            # command, edit or tool
pattern = "git push"
scope = "always"            # or project, with its folder in workspace
created_at = 2026-11-21T21:37:00Z
```

It fails closed. A broken entry is named and skipped, so what it would allow is not allowed. A broken *forbid* would let
through what the user wanted stopped: it is a *fault*, and `core.approvals.rulebook` lets nothing run at the start
because of it.
"""

import re
from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast, get_args

import tomlkit
from filelock import FileLock, Timeout
from msgspec import Struct
from msgspec.structs import asdict
from tomlkit import TOMLDocument
from tomlkit.exceptions import ParseError, TOMLKitError
from tomlkit.items import AoT, Table

from desktop_agent.core.base.errors import StorageError, UsageError
from desktop_agent.core.base.private_files import PRIVATE_FILE, make_private_folder
from desktop_agent.core.protocol.model import Rule, RuleEffect, RuleKind, RuleScope
from desktop_agent.core.settings import FileProblem
from desktop_agent.core.settings.plain_file import UnreadableError, read_plain
from desktop_agent.core.system.file_writes import write_atomically

RULES_NAME = "rules.toml"

_LOCK_TIMEOUT_S = 5.0
_LARGEST_BYTES = 2**20
"""Thousands of rules."""
_TABLE = "rule"


class LoadedRules(Struct, frozen=True):
    """The rules in force and what was wrong with the file."""

    rules: tuple[Rule, ...] = ()
    problems: tuple[FileProblem, ...] = ()
    """Of a rule, the key is its number in the file: `rule 1`."""

    @property
    def is_forbidding_broken(self) -> bool:
        """Whether a rule that forbids or asks may be among what could not be read."""
        return any(problem.is_fault for problem in self.problems)


class RulesFile:
    """The rules of scope `project` and `always`. Several processes may change it: each change reads it anew."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def load(self) -> LoadedRules:
        """Return every rule that is sound, and name every one that is not. Blocks; never raises."""
        line: int | None = None
        try:
            text = self._text()
            return self._rules(tomlkit.parse(text), _lines_of_rules(text))
        except FileNotFoundError:
            return LoadedRules()
        except UnreadableError as error:
            reason = str(error)
        except UnicodeDecodeError as error:
            reason = f"cannot be read: {error}"
        except (TOMLKitError, RecursionError) as error:
            reason = f"is not valid TOML, so none of its rules count: {error or 'it is nested too deeply'}"
            line = error.line if isinstance(error, ParseError) else None
        return LoadedRules(problems=(FileProblem(self.path, "", reason, line, is_fault=True),))

    def add(self, *rules: Rule) -> None:
        """Write rules behind those that are there; one with a known id replaces it. Blocks.

        Raises `StorageError` when that is not possible and `UsageError` when the file is broken; it is then as before.
        """
        lasting = [rule for rule in rules if rule.scope != "session"]

        def put(document: TOMLDocument) -> None:
            entries = _entries(document, self.path)
            for rule in lasting:
                _drop(entries, rule.id)
                cast("Any", entries).append(_table(rule))  # the library leaves the type of a table open

        if lasting:
            self._change(put)

    def remove(self, rule_id: str) -> bool:
        """Take a rule out and return whether it was there. Blocks. Raises like `add`."""
        found = False

        def take(document: TOMLDocument) -> None:
            nonlocal found
            found = _drop(_entries(document, self.path), rule_id)

        if self.path.exists():
            self._change(take)
        return found

    def _change(self, change: Callable[[TOMLDocument], None]) -> None:
        """Read, change and write the file as one step that no other process comes between."""
        try:
            make_private_folder(self.path.parent)
            with FileLock(self.path.with_name(f".{self.path.name}.lock"), timeout=_LOCK_TIMEOUT_S, mode=PRIVATE_FILE):
                try:
                    document = tomlkit.parse(self._text())
                except FileNotFoundError:
                    document = tomlkit.document()
                change(document)
                _drop_empty_list(document)
                write_atomically(self.path, tomlkit.dumps(document).encode(), mode=PRIVATE_FILE)
        except Timeout as error:
            raise StorageError("The rules are being changed by another process.", hint="Try again.") from error
        except (OSError, UnicodeDecodeError) as error:
            raise StorageError("The rules could not be saved.", detail=f"{self.path}: {error}") from error
        except TOMLKitError as error:
            hint = f"Mend {self.path} first."
            raise UsageError("The rules file is not valid TOML, so nothing was saved.", hint=hint) from error

    def _text(self) -> str:
        # From bytes: whatever ends the lines must end them afterwards.
        return read_plain(self.path, _LARGEST_BYTES).decode("utf-8-sig")

    def _rules(self, document: TOMLDocument, lines: Mapping[str | int, int]) -> LoadedRules:
        plain = cast("dict[str, object]", document.unwrap())
        entries = plain.get(_TABLE, [])
        problems = [
            FileProblem(
                self.path, "", f"{key}: unknown key; rules are written as [[rule]]", lines.get(key), is_fault=True
            )
            for key in plain
            if key != _TABLE
        ]
        if not isinstance(entries, list):
            message = f"{_TABLE}: rules are written as [[rule]]"
            problems.append(FileProblem(self.path, "", message, lines.get(_TABLE), is_fault=True))
            return LoadedRules(problems=tuple(problems))
        rules: dict[str, Rule] = {}
        for number, entry in enumerate(cast("list[object]", entries), start=1):
            try:
                rule = _rule(entry, known=rules.keys())
                rules[rule.id] = rule
            except ValueError as error:
                effect = cast("dict[str, object]", entry).get("effect") if isinstance(entry, dict) else None
                message, is_fault = f"{error}; it does not count", effect != "allow"
                line = lines.get(number)
                problems.append(FileProblem(self.path, f"rule {number}", message, line, is_fault=is_fault))
        return LoadedRules(tuple(rules.values()), tuple(problems))


def _lines_of_rules(text: str) -> dict[str | int, int]:
    """Return the line on which the rule of each number begins, and everything else at the top by its name."""
    lines: dict[str | int, int] = {}
    count = 0
    for number, line in enumerate(text.splitlines(), start=1):
        if (header := _HEADER.match(line)) is None:
            continue
        name = header["name"].strip("\"' \t")
        if name == _TABLE and header["list"]:
            count += 1
            lines[count] = number
        lines.setdefault(name, number)
    return lines


_HEADER = re.compile(r"\s*\[(?P<list>\[?)(?P<name>[^\[\]]+)\]")


def _drop_empty_list(document: TOMLDocument) -> None:
    """Take out a list without a rule: it is written as a value, to which no table can be added."""
    if _TABLE in document and document[_TABLE] == []:
        document.remove(_TABLE)


def _entries(document: TOMLDocument, path: Path) -> AoT:
    _drop_empty_list(document)  # earlier versions left it behind the last rule
    if _TABLE not in document:
        document.append(_TABLE, tomlkit.aot())
    entries = document[_TABLE]
    if not isinstance(entries, AoT):
        raise UsageError("The rules in the file are not written as [[rule]].", hint=f"Mend {path} first.")
    return entries


def _drop(entries: AoT, rule_id: str) -> bool:
    plain = cast("list[dict[str, object]]", entries.unwrap())
    places = [index for index, entry in enumerate(plain) if entry.get("id") == rule_id]
    for index in reversed(places):
        del entries[index]
    return bool(places)


def _table(rule: Rule) -> Table:
    """Return the rule as it stands in the file: the names of the fields of `Rule` are the keys there."""
    table = tomlkit.table()
    values = asdict(rule) | {"details": list(rule.details)}
    for key, value in values.items():
        if value:  # what is left out is what a rule has anyway
            table.append(key, value)
    return table


def _rule(entry: object, *, known: Collection[str]) -> Rule:
    """Return the rule of one entry. Raises `ValueError` that says what is wrong with it."""
    if not isinstance(entry, dict):
        raise ValueError("it is not a table")  # noqa: TRY004  # one kind of error for everything wrong with an entry
    values = cast("dict[str, object]", entry)
    if unknown := sorted(values.keys() - set(Rule.__struct_fields__)):
        raise ValueError(f"{unknown[0]!r} is not known")  # it may have been meant to narrow the rule down
    details = values.get("details", [])
    if not isinstance(details, list) or not all(isinstance(item, str) for item in cast("list[object]", details)):
        raise ValueError("details must be a list of texts")
    created = _time(values, "created_at")
    rule = Rule(
        id=_text(values, "id", is_needed=True),
        effect=cast("RuleEffect", _one_of(values, "effect", get_args(RuleEffect))),
        kind=cast("RuleKind", _one_of(values, "kind", get_args(RuleKind))),
        pattern=_text(values, "pattern", is_needed=True),
        scope=cast("RuleScope", _one_of(values, "scope", ("project", "always"))),
        created_at=created or datetime.min.replace(tzinfo=UTC),
        is_exact=_flag(values, "is_exact"),
        folder=_text(values, "folder"),
        details=tuple(cast("list[str]", details)),
        workspace=_text(values, "workspace"),
        expires_at=_time(values, "expires_at"),
        is_unconfined=_flag(values, "is_unconfined"),
    )
    if rule.scope == "project" and not Path(rule.workspace).is_absolute():
        raise ValueError("workspace must be the project's folder, absolute")
    if rule.id in known:
        raise ValueError(f"another rule has the id {rule.id!r}, too")
    return rule


def _text(values: Mapping[str, object], key: str, *, is_needed: bool = False) -> str:
    value = values.get(key, "")
    if not isinstance(value, str) or (is_needed and not value.strip()):
        raise ValueError(f"{key} must be a text" + (" that is not empty" if is_needed else ""))
    return value


def _one_of(values: Mapping[str, object], key: str, known: tuple[str, ...]) -> str:
    value = values.get(key)
    if value not in known:
        raise ValueError(f"{key} must be one of {', '.join(known)}")
    return cast("str", value)


def _flag(values: Mapping[str, object], key: str) -> bool:
    value = values.get(key, False)
    if not isinstance(value, bool):
        raise ValueError(f"{key} must be true or false")  # noqa: TRY004  # as above
    return value


def _time(values: Mapping[str, object], key: str) -> datetime | None:
    value = values.get(key)
    if value is None:
        return None
    if not isinstance(value, datetime):
        raise ValueError(f"{key} must be a date with a time")  # noqa: TRY004  # as above
    return value if value.tzinfo is not None else value.astimezone()
