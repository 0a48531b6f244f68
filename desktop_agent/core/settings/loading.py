"""Reading a settings file: the usable values, their sources, and the problems.

A problem is a *fault* if safety depends on the value. At the start, a fault stops everything until the user decides.
"""

import os
import re
import stat
import tomllib
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Literal, cast

from msgspec import Struct, field

from desktop_agent.core.base.errors import UsageError
from desktop_agent.core.base.regex import regex
from desktop_agent.core.settings.declaring import Section
from desktop_agent.core.settings.sections import Settings
from desktop_agent.core.settings.values import (
    absolute,
    closest_key,
    declared_settings,
    hides_safety,
    is_safety_section,
    replaced,
    safety_keys,
    shown_value,
    tightened,
    touches_safety,
    value_of,
    with_setting,
)


class UnreadableError(OSError):
    """The path is not a file that can be read as settings; the message says why, without the path."""


def read_plain(path: Path, largest_bytes: int) -> bytes:
    """Return the content of a plain file. Blocks, but never on a pipe or a device.

    Raises `FileNotFoundError` when nothing is there, and `UnreadableError` for anything but a readable plain file of at
    most `largest_bytes`.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        with os.fdopen(descriptor, "rb") as file:
            is_plain = stat.S_ISREG(os.fstat(descriptor).st_mode)
            content = file.read(largest_bytes + 1) if is_plain else b""
    except FileNotFoundError:
        if path.is_symlink():
            raise UnreadableError("cannot be read: it is a link to what does not exist") from None
        raise
    except OSError as error:
        raise UnreadableError(f"cannot be read: {error.strerror or error}") from error
    if not is_plain:
        raise UnreadableError("cannot be read: it is not a file")
    if len(content) > largest_bytes:
        raise UnreadableError(f"cannot be read: it is larger than {largest_bytes // 1024} KiB")
    return content


def with_last_line_ended(content: bytes) -> bytes:
    """Return the content of a text file with its last line ended, ready for appending."""
    if not content or content.endswith(b"\n"):
        return content
    return content + (b"\r\n" if b"\r\n" in content else b"\n")


_NAMING = "DESKTOP_AGENT_CONFIG"

LARGEST_BYTES = 2**20

_MOST_PROBLEMS = 1_000


class FileProblem(Struct, frozen=True):
    path: Path
    key: str
    message: str
    line: int | None = None
    """The line of the key in the file, from 1; `None` if the key is not in the file."""
    is_fault: bool = False
    """Whether safety depends on the value, so that no default may replace it."""

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}" if self.line else str(self.path)
        return f"{place}: {self.key}: {self.message}" if self.key else f"{place}: {self.message}"

    @property
    def is_about_the_file(self) -> bool:
        return not self.key


LISTS = frozenset({"mcp.definitions", "agents", "hooks.definitions", "diagnostics.definitions"})


class FoundTable(Struct, frozen=True, kw_only=True):
    """One table of a list (`[[mcp.definitions]]`), or another value in its place, passed on unchanged."""

    key: str
    number: int
    value: object
    path: Path
    line: int | None
    """The line where the table begins in the file; `None` if it shares that line with others."""
    is_project: bool = False
    plugin: str = ""
    """The name of the plugin that brings it."""
    may_start: Callable[[], bool] | None = None
    """Returns whether what it runs of a plugin or a project is still what the user allowed. Blocks; never raises."""

    def problem(self, message: str, *, is_fault: bool = False) -> FileProblem:
        """Return a problem with this table, whose key is the table's number in the file: `rule 1`."""
        return FileProblem(self.path, f"{self.key} {self.number}", message, self.line, is_fault=is_fault)


def tables_in(key: str, value: object, path: Path, text: str) -> tuple[FoundTable, ...]:
    """Return the tables of a list. Raises `ValueError` if the value is not a list."""
    if not isinstance(value, list):
        raise ValueError(f"entries must be tables, written as [[{key}]]")  # noqa: TRY004 -- as all mistakes in a file
    lines = _lines(text, key)
    return tuple(
        FoundTable(
            key=key, number=number, value=entry, path=path, line=lines[number - 1] if number <= len(lines) else None
        )
        for number, entry in enumerate(cast("list[object]", value), start=1)
    )


@lru_cache(maxsize=4)
def _lines(text: str, key: str) -> tuple[int, ...]:
    name = r"\s*\.\s*".join(map(re.escape, key.split(".")))
    header = re.compile(rf"\s*\[\[\s*{name}\s*\]\]")
    return tuple(number for number, line in enumerate(text.split("\n"), start=1) if header.match(line))


class SettingSource(Struct, frozen=True):
    kind: Literal["file", "environment", "project"]
    place: str
    line: int | None = None

    def __str__(self) -> str:
        return f"{self.place}:{self.line}" if self.line else self.place


class LoadedSettings(Struct, frozen=True):
    """The settings in force, the problems of the file, and the source of each value."""

    settings: Settings
    problems: tuple[FileProblem, ...]
    sources: Mapping[str, SettingSource] = field(default_factory=dict[str, SettingSource])
    """The sources of values, by dotted key. A missing key has its default."""
    tables: tuple[FoundTable, ...] = ()

    @property
    def faults(self) -> tuple[FileProblem, ...]:
        return tuple(problem for problem in self.problems if problem.is_fault)


class FileText(Struct, frozen=True):
    path: Path
    text: str
    document: Mapping[str, object]
    problem: FileProblem | None = None

    def line_of(self, key: str) -> int | None:
        """Return the line of a dotted key, or of its section. The text is searched: the parser keeps no positions."""
        places = _places(self.text)
        # `a.b = 1` says where `a` is, and `a = {b = 1}` where `a.b` is.
        found = places.get(key) or next((place for name, place in places.items() if name.startswith(f"{key}.")), None)
        return found or places.get(key.rpartition(".")[0])


def load_settings(
    path: Path, environ: Mapping[str, str] = os.environ, *, before: Settings | None = None
) -> LoadedSettings:
    """Read the settings file, if there is one, and apply the environment. Blocks; never raises.

    `before` are the settings in force until now. They replace unusable values, and after a fault no setting that safety
    depends on becomes looser.
    """
    file = read_file(path, is_named=bool(environ.get(_NAMING)))
    held = before or Settings()
    tables: tuple[FoundTable, ...] = ()
    if file.problem is not None:
        values, problems, sources = held, [file.problem], dict[str, SettingSource]()
    else:
        found = FoundValues(file, held, is_held=before is not None)
        problems, tables = found.problems, found.tables
        values, sources = Settings(), dict[str, SettingSource]()
        for key, value in found.values.items():
            values = replaced(values, key, value)
            sources[key] = SettingSource("file", str(path), file.line_of(key))
        for key in declared_settings():
            if any(key == problem.key or key.startswith(f"{problem.key}.") for problem in problems):
                values = replaced(values, key, value_of(held, key))
        if before is not None and any(problem.is_fault for problem in problems):
            values = _not_looser(values, before)
    values = _with_environment(values, environ, path, problems, sources)
    return LoadedSettings(values, tuple(problems), sources, tables)


def read_file(path: Path, *, is_named: bool = False) -> FileText:
    """Return the content of the file. Blocks; never raises. A file that `is_named` by the user must exist."""
    try:
        text = read_plain(path, LARGEST_BYTES).decode("utf-8-sig")  # some editors put a mark of three bytes first
    except FileNotFoundError:
        if not is_named:
            return FileText(path, "", {})
        return FileText(path, "", {}, FileProblem(path, "", "does not exist", is_fault=True))
    except UnreadableError as error:
        return FileText(path, "", {}, FileProblem(path, "", str(error), is_fault=True))
    except UnicodeDecodeError as error:
        return FileText(path, "", {}, FileProblem(path, "", f"cannot be read: {error}", is_fault=True))
    return parse_file(path, text)


def parse_file(path: Path, text: str) -> FileText:
    try:
        return FileText(path, text, tomllib.loads(text))
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, lists in lists without end
        reason = str(error) if isinstance(error, ValueError) else "it is nested too deeply"
        line = re.search(r"\(at line (\d+), column \d+\)", reason)
        number = int(line[1]) if line else None
        problem = FileProblem(path, "", f"is not valid TOML: {reason}", number, is_fault=True)
        return FileText(path, text, {}, problem)


class FoundValues:
    """The validated settings of a file, its unusable ones, and the tables of its lists."""

    def __init__(self, file: FileText, before: Settings, *, is_held: bool = True) -> None:
        """Values in `before` replace unusable ones. If safety depends on a value, that needs `is_held`."""
        self._file = file
        self._is_held = is_held
        self.values: dict[str, object] = {}
        self.problems: list[FileProblem] = []
        self.tables: tuple[FoundTable, ...] = ()
        self._gather("", before, file.document)

    def _gather(self, name: str, section: Section, found: object) -> None:
        if not isinstance(found, dict):
            self._refuse(name, f"must be a section, written as [{name}]", is_fault=touches_safety(name))
            return
        for key, value in cast("dict[str, object]", found).items():
            full = f"{name}.{key}" if name else key
            if len(self.problems) >= _MOST_PROBLEMS:
                self._refuse("", f"has more than {_MOST_PROBLEMS} mistakes, so the rest is not read", is_fault=True)
                return
            if full in LISTS:
                try:
                    self.tables += tables_in(full, value, self._file.path, self._file.text)
                except ValueError as error:
                    self._refuse(full, str(error), is_fault=False)
            elif key not in section.__struct_fields__:
                self._refuse_unknown(full, section.__struct_fields__, value)
            elif isinstance(current := getattr(section, key), Section):
                self._gather(full, current, value)
            else:
                self._take(full, value, current)

    def _take(self, key: str, value: object, current: object) -> None:
        try:
            setting = declared_settings()[key]
            self.values[key] = absolute(setting, setting.checked(value), self._file.path.parent)
        except ValueError as error:
            is_fault = touches_safety(key)
            used = list(cast("tuple[str, ...]", current)) if isinstance(current, tuple) else current
            stands_in = "" if is_fault and not self._is_held else f"; using {used!r}"
            self._refuse(key, f"{error}{stands_in}", is_fault=is_fault)

    def _refuse_unknown(self, key: str, known: tuple[str, ...], value: object) -> None:
        section = key.rpartition(".")[0]
        meant = closest_key(key)
        kind, place = ("setting", f"[{section}] knows") if section else ("section", "known are")
        guess = f"did you mean {meant}? " if meant else ""
        is_fault = is_safety_section(section) or (bool(meant) and touches_safety(meant))
        if isinstance(value, dict) and hides_safety(cast("dict[str, object]", value)):
            for name in cast("dict[str, object]", value):
                if touches_safety(hidden := closest_key(f"{key}.{name}") or key):
                    self._refuse(f"{key}.{name}", f"unknown setting; did you mean {hidden}?", is_fault=True)
            is_fault = True
        self._refuse(key, f"unknown {kind}; {guess}{place} {', '.join(known)}", is_fault=is_fault)

    def _refuse(self, key: str, message: str, *, is_fault: bool) -> None:
        line = self._file.line_of(key) if key else None
        self.problems.append(FileProblem(self._file.path, key, message, line, is_fault=is_fault))


def _not_looser(values: Settings, before: Settings) -> Settings:
    for key in safety_keys():
        held = value_of(before, key)
        stricter = tightened(declared_settings()[key], held, value_of(values, key))
        values = replaced(values, key, held if stricter is None else stricter)
    return values


def _with_environment(
    settings: Settings,
    environ: Mapping[str, str],
    path: Path,
    problems: list[FileProblem],
    sources: dict[str, SettingSource],
) -> Settings:
    for key, setting in declared_settings().items():
        # The provider itself is declared first, and has none.
        variable = setting.about.variables.get(settings.model.provider, "")
        if not variable or not (text := environ.get(variable)):
            continue
        value: object = int(text) if setting.kind == "whole" and text.isdecimal() and len(text) < 20 else text
        try:
            settings = with_setting(settings, key, value)
        except UsageError as error:
            message = f"{error.title} Using {shown_value(value_of(settings, key))}."
            problems.append(FileProblem(path, variable, message, is_fault=touches_safety(key)))
        else:
            sources[key] = SettingSource("environment", variable)
    return settings


@lru_cache(maxsize=4)
def _places(text: str) -> Mapping[str, int]:
    section, places, depth = "", dict[str, int](), 0
    # Only line feeds end a line in TOML; a form feed in a comment does not.
    for number, line in enumerate(_TEXT.sub(_blanked, text).split("\n"), start=1):
        is_inside, depth = depth > 0, max(0, depth + sum(_BRACKETS.get(char, 0) for char in _QUOTED.sub("", line)))
        if is_inside:  # a list
            continue
        if header := _HEADER.match(line):
            section = _plain(header[1])
            places.setdefault(section, number)
        elif assignment := _ASSIGNMENT.match(line):
            places.setdefault(_plain(f"{section}.{assignment[1]}" if section else assignment[1]), number)
    return places


def _blanked(match: re.Match[str]) -> str:
    """Blank out a text or a comment, whose content could look like a key, but keep its line ends."""
    found = match.group()
    return found if match["short"] else '""' + "\n" * found.count("\n")


_TEXT = regex(
    r'''"""(?:\\.|[^\\])*?"{3,5}|'{3}.*?'{3,5}|(?P<short>"(?:\\.|[^"\\\n])*"|'[^'\n]*')|\#[^\n]*''', re.DOTALL
)
_BRACKETS = {"[": 1, "{": 1, "]": -1, "}": -1}
_QUOTED = regex(r"""\"(?:\\.|[^"\\])*"|'[^']*'""")
_HEADER = regex(r"\s*\[\[?([^\[\]]+)\]")
_ASSIGNMENT = regex(r"""\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*=""")


def _plain(key: str) -> str:
    return re.sub(r"""[\s"']""", "", key)
