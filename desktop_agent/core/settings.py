"""Settings: declared once with their types and defaults, read from TOML, immutable.

A bad value never stops the application: it is named with file, line, key and what would be right, and the default is
used.
"""

import math
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
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
    generates_titles: bool = True
    """Whether the model makes up a title after the first turn of a session: one small request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionSettings:
    """`[execution]`: what may happen without a question."""

    approval: Literal["always", "on_write", "on_request", "never"] = "on_write"
    sandbox: Literal["restricted", "strict", "none"] = "restricted"
    """What confines commands; `none` confines nothing, and every command asks."""
    allowed_paths: tuple[str, ...] = ()
    """Folders beside the workspace that tools may read and commands may write. In the settings file `~` is the home
    folder, and a relative one is relative to that file."""
    blocked_commands: tuple[str, ...] = ()
    """What no command may begin with, such as `shutdown` or `git push`, also behind wrappers and inside pipes."""
    timeout_seconds: float | None = None
    """The longest a command may take, whatever its call says; unset, the call decides."""


IGNORED_FOLDERS = (
    ".git", ".hg", ".svn", ".jj",
    "node_modules", ".venv", "venv", ".tox", ".nox",
    "__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis",
    ".gradle", ".terraform", ".next", ".cache",
)  # fmt: skip
"""Folders that tools make anew by themselves, and version control's own files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureSettings:
    """`[capture]`: what is watched for changes while a command runs, and so can be undone."""

    ignored_folders: tuple[str, ...] = IGNORED_FOLDERS
    """Names of folders, anywhere in the workspace, whose content is not watched."""
    max_file_bytes: int = 8 * 2**20
    """The largest file of which a copy is kept."""
    max_total_bytes: int = 512 * 2**20
    """Of how much a copy is kept at most; what git has unchanged needs none."""
    max_files: int = 100_000
    """How many files are watched."""
    max_seconds: float = 20.0
    """How long one look through the workspace may take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolLimits:
    """`[tools.limits]`: how much of a tool's result the model reads."""

    max_tool_tokens: int = 4000
    max_stdout_bytes: int = 131_072
    max_lines: int = 800


@dataclass(frozen=True, slots=True, kw_only=True)
class SafetyCopySettings:
    """`[safety_copy]`: how much is copied before a command that destroys; what is more is named and not copied."""

    max_files: int = 20_000
    max_mib: int = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolsSettings:
    """`[tools]`: what holds for all tools."""

    limits: ToolLimits = field(default_factory=ToolLimits)


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
    safety_copy: SafetyCopySettings = field(default_factory=SafetyCopySettings)
    capture: CaptureSettings = field(default_factory=CaptureSettings)
    tools: ToolsSettings = field(default_factory=ToolsSettings)
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
        if name not in _keys(settings):
            problems.append(SettingsProblem(path, name, f"unknown section; known are {', '.join(_keys(settings))}"))
        else:
            settings = replace(settings, **{name: _merge(path, name, getattr(settings, name), value, problems)})
    problems = [replace(problem, line=_line_of(problem.key, text)) if problem.key else problem for problem in problems]
    settings = _with_environment(_with_folders(settings, path.parent), environ, path, problems)
    return LoadedSettings(settings, tuple(problems))


def with_setting(settings: Settings, key: str, value: object) -> Settings:
    """Return `settings` with the dotted `key` set. Raises `UsageError` naming the allowed values."""
    known = setting_values(settings)
    if key not in known:
        raise UsageError(f"There is no setting {key!r}.", hint=f"Known settings: {', '.join(known)}.")
    try:
        return cast("Settings", _with(settings, key.split("."), value))
    except ValueError as error:
        raise UsageError(f"{key} cannot be {value!r}: {error}.") from error


def setting_values(settings: Settings) -> dict[str, object]:
    """Return every setting by its dotted key, in the order of declaration."""
    return dict(_values(settings, ""))


def _values(section: object, prefix: str) -> Iterator[tuple[str, object]]:
    for key in _keys(section):
        value = getattr(section, key)
        if is_dataclass(value):
            yield from _values(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _with(section: object, keys: list[str], value: object) -> object:
    first, *rest = keys
    inner = _with(getattr(section, first), rest, value) if rest else _checked(_hint(section, first), value)
    return replace(cast("Any", section), **{first: inner})


def _with_folders(settings: Settings, base: Path) -> Settings:
    """Make the allowed folders absolute: `~` is the home folder, the rest is relative to `base`."""
    folders = tuple(str((base / Path(text).expanduser()).resolve()) for text in settings.execution.allowed_paths)
    return replace(settings, execution=replace(settings.execution, allowed_paths=folders))


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


def _merge(path: Path, name: str, section: object, values: object, problems: list[SettingsProblem]) -> object:
    """Return `section` with what can be used of `values`; the rest is named in `problems`."""
    if not isinstance(values, dict):
        problems.append(SettingsProblem(path, name, f"must be a section, written as [{name}]"))
        return section
    for key, value in cast("dict[str, object]", values).items():
        if key not in _keys(section):
            known = ", ".join(_keys(section))
            problems.append(SettingsProblem(path, f"{name}.{key}", f"unknown setting; [{name}] knows {known}"))
            continue
        current = getattr(section, key)
        if is_dataclass(current):
            section = replace(cast("Any", section), **{key: _merge(path, f"{name}.{key}", current, value, problems)})
            continue
        try:
            section = _with(section, [key], value)
        except ValueError as error:
            problems.append(SettingsProblem(path, f"{name}.{key}", f"{error}; using {_shown(current)}"))
    return section


def _shown(value: object) -> str:
    return repr(list(cast("tuple[str, ...]", value)) if isinstance(value, tuple) else value)


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


def _keys(section: object) -> tuple[str, ...]:
    return tuple(item.name for item in fields(cast("Any", section)))


def _hint(section: object, key: str) -> object:
    return get_type_hints(type(section))[key]


def _checked(hint: object, value: object) -> object:
    """Return `value` as a setting of type `hint` holds it. Raises `ValueError` that says what is allowed."""
    if hint == tuple[str, ...]:
        return _checked_texts(value)
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


def _checked_texts(value: object) -> tuple[str, ...]:
    """Return a list of texts, which may also be written as one text with commas; blanks are left out."""
    items = value.split(",") if isinstance(value, str) else value
    if not isinstance(items, list | tuple) or not all(isinstance(item, str) for item in cast("list[object]", items)):
        raise ValueError(f"{value!r} is not a list of texts")
    return tuple(text.strip() for text in cast("list[str]", items) if text.strip())
