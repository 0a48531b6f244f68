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

from collections.abc import Collection
from datetime import UTC, datetime
from pathlib import Path
from typing import cast, get_args

from msgspec import Struct
from msgspec.structs import asdict

from desktop_agent.core.protocol.model import Rule, RuleEffect, RuleKind, RuleScope
from desktop_agent.core.settings import FileProblem
from desktop_agent.core.settings.table_file import (
    TableEntry,
    TableFile,
    TableList,
    choice_in,
    flag_in,
    table_of,
    text_in,
    texts_in,
    time_in,
)

RULES_NAME = "rules.toml"


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
        self._file = TableFile(path, "rule", "rules")

    def load(self) -> LoadedRules:
        """Return every rule that is sound, and name every one that is not. Blocks; never raises."""
        loaded = self._file.load()
        rules: dict[str, Rule] = {}
        problems = list(loaded.problems)
        for entry in loaded.entries:
            try:
                rule = _rule(entry.value, known=rules.keys())
                rules[rule.id] = rule
            except ValueError as error:
                problems.append(self._problem_of(entry, error))
        return LoadedRules(tuple(rules.values()), tuple(problems))

    def add(self, *rules: Rule) -> None:
        """Write rules behind those that are there; one with a known id replaces it. Blocks.

        Raises `StorageError` when that is not possible and `UsageError` when the file is broken; it is then as before.
        """
        lasting = [rule for rule in rules if rule.scope != "session"]

        def put(tables: TableList) -> None:
            for rule in lasting:
                _drop(tables, rule.id)
                tables.append(_table(rule))

        if lasting:
            self._file.change(put)

    def remove(self, rule_id: str) -> bool:
        """Take a rule out and return whether it was there. Blocks. Raises like `add`."""
        found = False

        def take(tables: TableList) -> None:
            nonlocal found
            found = _drop(tables, rule_id)

        if self.path.exists():
            self._file.change(take)
        return found

    def _problem_of(self, entry: TableEntry, error: ValueError) -> FileProblem:
        value = entry.value
        effect = cast("dict[str, object]", value).get("effect") if isinstance(value, dict) else None
        return self._file.problem_of(entry, f"{error}; it does not count", is_fault=effect != "allow")


def _drop(tables: TableList, rule_id: str) -> bool:
    return tables.drop(lambda table: table.get("id") == rule_id)


def _table(rule: Rule) -> dict[str, object]:
    """Return the rule as it stands in the file: the names of the fields of `Rule` are the keys there."""
    values = asdict(rule) | {"details": list(rule.details)}
    return {key: value for key, value in values.items() if value}  # what is left out is what a rule has anyway


def _rule(entry: object, *, known: Collection[str]) -> Rule:
    """Return the rule of one entry. Raises `ValueError` that says what is wrong with it."""
    values = table_of(entry, Rule.__struct_fields__)
    rule = Rule(
        id=text_in(values, "id", is_needed=True),
        effect=cast("RuleEffect", choice_in(values, "effect", get_args(RuleEffect))),
        kind=cast("RuleKind", choice_in(values, "kind", get_args(RuleKind))),
        pattern=text_in(values, "pattern", is_needed=True),
        scope=cast("RuleScope", choice_in(values, "scope", ("project", "always"))),
        created_at=time_in(values, "created_at") or datetime.min.replace(tzinfo=UTC),
        is_exact=flag_in(values, "is_exact"),
        folder=text_in(values, "folder"),
        details=texts_in(values, "details"),
        workspace=text_in(values, "workspace"),
        expires_at=time_in(values, "expires_at"),
        is_unconfined=flag_in(values, "is_unconfined"),
        repository=text_in(values, "repository"),
        repository_mark=text_in(values, "repository_mark"),
    )
    if rule.scope == "project" and not Path(rule.workspace).is_absolute():
        raise ValueError("workspace must be the project's folder, absolute")
    if rule.id in known:
        raise ValueError(f"another rule has the id {rule.id!r}, too")
    return rule
