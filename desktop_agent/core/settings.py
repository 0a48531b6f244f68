"""Settings: declared once with their types and defaults, read from TOML, immutable.

A bad value never stops the application: it is named with file, line, key and what would be right, and the default is
used.
"""

import math
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, cast, get_args, get_origin, get_type_hints

from desktop_agent.core.errors import UsageError

DEFAULT_MODEL = "claude-sonnet-5-5"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """`[model]`: who answers."""

    provider: Literal["anthropic", "demo"] = "anthropic"
    name: str = DEFAULT_MODEL
    base_url: str = ""
    """Another address than the provider's own; empty for that."""
    max_tokens: int = 16_000
    """The longest answer, in tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionSettings:
    """`[execution]`: what may happen without a question."""

    approval: Literal["always", "on_write", "on_request", "never"] = "on_write"
    sandbox: Literal["restricted", "strict", "none"] = "restricted"
    """What confines commands in new sessions."""
    timeout_seconds: float | None = None
    """The longest a command may take, whatever its call says; unset, the call decides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UiSettings:
    """`[ui]`: how the window looks."""

    theme: Literal["system", "light", "dark"] = "system"
    colour_blind_safe_diff: bool = False
    chat_font_px: int = 13
    code_font_px: int = 12
    diff_font_px: float = 11.5


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerSettings:
    """`[runner]`: defaults of `desktop-agent run`."""

    max_turns: int = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything that can be set. Names and defaults are part of the application's contract."""

    model: ModelSettings = field(default_factory=ModelSettings)
    execution: ExecutionSettings = field(default_factory=ExecutionSettings)
    ui: UiSettings = field(default_factory=UiSettings)
    runner: RunnerSettings = field(default_factory=RunnerSettings)


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


@dataclass(frozen=True, slots=True)
class LoadedSettings:
    """The settings in force and what was wrong with the file."""

    settings: Settings
    problems: tuple[SettingsProblem, ...]


def load_settings(path: Path, environ: Mapping[str, str] = os.environ) -> LoadedSettings:
    """Read the settings file, if there is one, and let the environment have its say. Never raises."""
    problems: list[SettingsProblem] = []
    text, document = _read(path, problems)
    settings = Settings()
    for name, value in document.items():
        if name not in _sections():
            problems.append(SettingsProblem(path, name, f"unknown section; known are {', '.join(_sections())}"))
        elif not isinstance(value, dict):
            problems.append(SettingsProblem(path, name, f"must be a section, written as [{name}]"))
        else:
            section = _merge(path, name, getattr(settings, name), cast("dict[str, object]", value), problems)
            settings = replace(settings, **{name: section})
    problems = [replace(problem, line=_line_of(problem.key, text)) if problem.key else problem for problem in problems]
    return LoadedSettings(_with_environment(settings, environ, path, problems), tuple(problems))


def with_setting(settings: Settings, key: str, value: object) -> Settings:
    """Return `settings` with the dotted `key` set. Raises `UsageError` naming the allowed values."""
    section_name, _, name = key.partition(".")
    if section_name not in _sections() or name not in _keys(getattr(settings, section_name)):
        known = [f"{s}.{k}" for s in _sections() for k in _keys(getattr(settings, s))]
        raise UsageError(f"There is no setting {key!r}.", hint=f"Known settings: {', '.join(known)}.")
    section = getattr(settings, section_name)
    try:
        return replace(settings, **{section_name: _set(section, name, value)})
    except ValueError as error:
        raise UsageError(f"{key} cannot be {value!r}: {error}.") from error


def _read(path: Path, problems: list[SettingsProblem]) -> tuple[str, dict[str, object]]:
    """Return the file's text and what it says."""
    try:
        text = path.read_text(encoding="utf-8-sig")  # some editors put a mark of three bytes first
        return text, tomllib.loads(text)
    except FileNotFoundError:
        return "", {}
    except (OSError, UnicodeDecodeError) as error:
        problems.append(SettingsProblem(path, "", f"cannot be read: {error}"))
    except tomllib.TOMLDecodeError as error:
        problems.append(SettingsProblem(path, "", f"is not valid TOML: {error}"))
    return "", {}


def _line_of(key: str, text: str) -> int | None:
    """Return the line on which a dotted key stands, else that of its section: the parser keeps no places."""
    section, places = "", dict[str, int]()
    for number, line in enumerate(text.splitlines(), start=1):
        if header := _HEADER.match(line):
            section = _plain(header[1])
            places.setdefault(section, number)
        elif assignment := _ASSIGNMENT.match(line):
            places.setdefault(_plain(f"{section}.{assignment[1]}" if section else assignment[1]), number)
    # `a.b = 1` and `a = {b = 1}` at the top say where `a` is, too.
    found = places.get(key) or places.get(key.rpartition(".")[0])
    return found or next((number for name, number in places.items() if name.startswith(f"{key}.")), None)


_HEADER = re.compile(r"\s*\[\[?([^\[\]]+)\]")
_ASSIGNMENT = re.compile(r"""\s*([\w."'-]+(?:\s*\.\s*[\w"'-]+)*)\s*=""")


def _plain(key: str) -> str:
    return re.sub(r"""[\s"']""", "", key)


def _merge(
    path: Path, name: str, section: object, values: dict[str, object], problems: list[SettingsProblem]
) -> object:
    for key, value in values.items():
        if key not in _keys(section):
            known = ", ".join(_keys(section))
            problems.append(SettingsProblem(path, f"{name}.{key}", f"unknown setting; [{name}] knows {known}"))
            continue
        try:
            section = _set(section, key, value)
        except ValueError as error:
            problems.append(SettingsProblem(path, f"{name}.{key}", f"{error}; using {getattr(section, key)!r}"))
    return section


def _with_environment(
    settings: Settings, environ: Mapping[str, str], path: Path, problems: list[SettingsProblem]
) -> Settings:
    """Let `ANTHROPIC_MODEL`, `ANTHROPIC_BASE_URL` and `ANTHROPIC_MAX_TOKENS` replace what the file says."""
    for variable, key in _VARIABLES.items():
        if text := environ.get(variable):
            value: object = int(text) if key == "max_tokens" and text.isdecimal() else text
            try:
                settings = with_setting(settings, f"model.{key}", value)
            except UsageError as error:
                problems.append(SettingsProblem(path, variable, str(error)))
    return settings


_VARIABLES = {"ANTHROPIC_MODEL": "name", "ANTHROPIC_BASE_URL": "base_url", "ANTHROPIC_MAX_TOKENS": "max_tokens"}


def _sections() -> tuple[str, ...]:
    return tuple(item.name for item in fields(Settings))


def _keys(section: object) -> tuple[str, ...]:
    return tuple(item.name for item in fields(cast("Any", section)))


def _set(section: object, key: str, value: object) -> object:
    """Return `section` with `key` set. Raises `ValueError` that says what is allowed."""
    hint = get_type_hints(type(section))[key]
    return replace(cast("Any", section), **{key: _checked(hint, value)})


def _checked(hint: object, value: object) -> object:
    if get_origin(hint) is Literal:
        allowed = get_args(hint)
        chosen = value.strip().lower() if isinstance(value, str) else value
        if chosen in allowed:
            return chosen
        raise ValueError(f"{value!r} is not one of {', '.join(allowed)}")
    if isinstance(hint, UnionType):
        hint = next(option for option in get_args(hint) if option is not NoneType)
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, cast("type", hint)) or (hint is not bool and isinstance(value, bool)):
        names = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}
        raise ValueError(f"{value!r} is not {names[cast('type', hint)]}")
    if isinstance(value, int | float) and not isinstance(value, bool) and not 0 < value < math.inf:
        raise ValueError(f"{value!r} is not greater than 0")
    return value
