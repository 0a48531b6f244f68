"""Reading a settings file: what of it can be used, where each value stands, and what cannot be used and why.

A bad value never stops the application: it is named with file, line, key and what would be right, and what held before
goes on to hold: the default at the start, the last good value while the application runs.
"""

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, is_dataclass
from pathlib import Path
from typing import Literal, cast

from desktop_agent.core.errors import UsageError
from desktop_agent.core.settings.sections import Settings
from desktop_agent.core.settings.values import (
    absolute,
    declared_settings,
    replaced,
    section_keys,
    shown_value,
    value_of,
    with_setting,
)


@dataclass(frozen=True, slots=True)
class SettingsProblem:
    """One thing in a settings file that was not used, and why."""

    path: Path
    key: str
    message: str
    line: int | None = None
    """Where the key stands in the file, counted from 1; None for what stands elsewhere or nowhere."""

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}" if self.line else str(self.path)
        return f"{place}: {self.key}: {self.message}" if self.key else f"{place}: {self.message}"

    @property
    def is_about_the_file(self) -> bool:
        """Whether nothing of the file could be used."""
        return not self.key


@dataclass(frozen=True, slots=True)
class Source:
    """Where a value comes from that is not the default."""

    kind: Literal["file", "environment", "project"]
    place: str
    """The file, or the name of the variable."""
    line: int | None = None

    def __str__(self) -> str:
        return f"{self.place}:{self.line}" if self.line else self.place


@dataclass(frozen=True, slots=True)
class LoadedSettings:
    """The settings in force, what was wrong with the file, and where each value comes from."""

    settings: Settings
    problems: tuple[SettingsProblem, ...]
    sources: Mapping[str, Source] = field(default_factory=dict[str, Source])
    """By dotted key; what is not in it is the default."""


@dataclass(frozen=True, slots=True)
class FileText:
    """What stands in a settings file: the text, and what it says, or why that cannot be said."""

    path: Path
    text: str
    document: Mapping[str, object]
    problem: SettingsProblem | None = None

    def line_of(self, key: str) -> int | None:
        """Return the line on which a dotted key stands, else that of its section: the parser keeps no places."""
        section, places = "", dict[str, int]()
        for number, line in enumerate(self.text.splitlines(), start=1):
            if header := _HEADER.match(line):
                section = _plain(header[1])
                places.setdefault(section, number)
            elif assignment := _ASSIGNMENT.match(line):
                places.setdefault(_plain(f"{section}.{assignment[1]}" if section else assignment[1]), number)
        # `a.b = 1` and `a = {b = 1}` at the top say where `a` is, too.
        found = places.get(key) or places.get(key.rpartition(".")[0])
        return found or next((number for name, number in places.items() if name.startswith(f"{key}.")), None)


def load_settings(
    path: Path, environ: Mapping[str, str] = os.environ, *, before: Settings | None = None
) -> LoadedSettings:
    """Read the settings file, if there is one, and let the environment have its say. Blocks; never raises.

    `before` is what holds where the file says something that cannot be used.
    """
    file = read_file(path)
    before = before or Settings()
    if file.problem is not None:
        values, problems, sources = before, [file.problem], dict[str, Source]()
    else:
        found, problems = values_in(file, before)
        values, sources = Settings(), dict[str, Source]()
        for key, value in found.items():
            values = replaced(values, key, value)
            sources[key] = Source("file", str(path), file.line_of(key))
        for key in _unusable(problems):
            values = replaced(values, key, value_of(before, key))
    values = _with_environment(values, environ, path, problems, sources)
    return LoadedSettings(values, tuple(problems), sources)


def read_file(path: Path) -> FileText:
    """Return what stands in the file. Blocks; never raises."""
    try:
        text = path.read_text(encoding="utf-8-sig")  # some editors put a mark of three bytes first
    except FileNotFoundError:
        return FileText(path, "", {})
    except (OSError, UnicodeDecodeError) as error:
        return FileText(path, "", {}, SettingsProblem(path, "", f"cannot be read: {error}"))
    return parse_file(path, text)


def parse_file(path: Path, text: str) -> FileText:
    """Return what `text`, which stands in `path`, says."""
    try:
        return FileText(path, text, tomllib.loads(text))
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, lists in lists without end
        reason = str(error) if isinstance(error, ValueError) else "it is nested too deeply"
        line = re.search(r"\(at line (\d+), column \d+\)", reason)
        problem = SettingsProblem(path, "", f"is not valid TOML: {reason}", int(line[1]) if line else None)
        return FileText(path, text, {}, problem)


def values_in(file: FileText, before: Settings) -> tuple[dict[str, object], list[SettingsProblem]]:
    """Return the settings that the file sets, checked, and what of it cannot be used.

    `before` has the values that hold instead of those.
    """
    values: dict[str, object] = {}
    problems: list[SettingsProblem] = []
    known = section_keys(before)
    for name, value in file.document.items():
        if name not in known:
            problems.append(
                SettingsProblem(file.path, name, f"unknown section; known are {', '.join(known)}", file.line_of(name))
            )
        else:
            _gather(file, name, getattr(before, name), value, values, problems)
    return values, problems


def _gather(
    file: FileText,
    name: str,
    section: object,
    found: object,
    values: dict[str, object],
    problems: list[SettingsProblem],
) -> None:
    """Put what can be used of `found` into `values`; the rest is named in `problems`."""

    def refuse(key: str, message: str) -> None:
        problems.append(SettingsProblem(file.path, key, message, file.line_of(key)))

    if not isinstance(found, dict):
        refuse(name, f"must be a section, written as [{name}]")
        return
    for key, value in cast("dict[str, object]", found).items():
        full = f"{name}.{key}"
        if key not in section_keys(section):
            refuse(full, f"unknown setting; [{name}] knows {', '.join(section_keys(section))}")
            continue
        current = getattr(section, key)
        if is_dataclass(current):
            _gather(file, full, current, value, values, problems)
            continue
        try:
            setting = declared_settings()[full]
            values[full] = absolute(setting, setting.checked(value), file.path.parent)
        except ValueError as error:
            refuse(full, f"{error}; using {_used(current)}")


def _used(value: object) -> str:
    return repr(list(cast("tuple[str, ...]", value)) if isinstance(value, tuple) else value)


def _unusable(problems: list[SettingsProblem]) -> list[str]:
    """Return the settings that the file says something unusable about, alone or as a whole section."""
    return [
        key
        for key in declared_settings()
        if any(key == problem.key or key.startswith(f"{problem.key}.") for problem in problems)
    ]


def _with_environment(
    settings: Settings,
    environ: Mapping[str, str],
    path: Path,
    problems: list[SettingsProblem],
    sources: dict[str, Source],
) -> Settings:
    """Let the environment variables of the settings that have one replace what the file says."""
    for key, setting in declared_settings().items():
        variable = setting.about.variable
        if not variable or not (text := environ.get(variable)):
            continue
        value: object = int(text) if setting.kind == "whole" and text.isdecimal() and len(text) < 20 else text
        try:
            settings = with_setting(settings, key, value)
        except UsageError as error:
            told = f"{error.title} Using {shown_value(value_of(settings, key))}."
            problems.append(SettingsProblem(path, variable, told))
        else:
            sources[key] = Source("environment", variable)
    return settings


_HEADER = re.compile(r"\s*\[\[?([^\[\]]+)\]")
_ASSIGNMENT = re.compile(r"""\s*([\w."'-]+(?:\s*\.\s*[\w"'-]+)*)\s*=""")


def _plain(key: str) -> str:
    return re.sub(r"""[\s"']""", "", key)
