"""Hooks, commands that run at named events of a session: finds their definitions, in four dialects, and matches them.

Claude Code's form is ours: https://code.claude.com/docs/en/hooks. The files of Codex, Cursor and Copilot are translated
into it. What cannot be used becomes a described problem; nothing raises.
"""

import json
import os
import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, Literal, cast, get_args

from msgspec import Struct
from msgspec.structs import replace

from desktop_agent.core.base.ids import Digest
from desktop_agent.core.base.plain_text import named, shortened
from desktop_agent.core.base.regex import regex
from desktop_agent.core.extensions.script_marks import marks_from
from desktop_agent.core.extensions.untrusted import HoldsSecretsError, SecretAt, read_start, why_unread
from desktop_agent.core.policy.shell import parse
from desktop_agent.core.protocol.model import HookEvent
from desktop_agent.core.settings.loading import FileProblem, FoundTable
from desktop_agent.core.settings.table_file import amount_in, choice_in, flag_in, table_of, text_in, texts_in
from desktop_agent.core.settings.workspace_settings import ProjectItem
from desktop_agent.core.system.files import digest_of

LIST = "hooks.definitions"
HOOK_EVENTS: Final = cast("tuple[HookEvent, ...]", get_args(HookEvent))
OF_CALLS: Final = frozenset[HookEvent]({"PreToolUse", "PermissionRequest", "PostToolUse"})

Dialect = Literal["claude", "codex", "cursor", "copilot"]
Scope = Literal["own", "home", "project", "plugin"]
"""Who owns a hook: the user's for this application, the user's for another program, the project's, or a plugin's."""

LONGEST_FILE = 256 * 1024
MOST_HOOKS = 100
"""How many hooks of one file are used."""
_MOST_FILES = 20
_LONGEST_COMMAND = 10_000
_LONGEST_TIME_S = 3_600.0


class Hook(Struct, frozen=True, kw_only=True):
    event: HookEvent
    command: str
    path: Path
    """The file that defines it."""
    scope: Scope
    dialect: Dialect = "claude"
    args: tuple[str, ...] | None = None
    """The arguments of `command`, which is then a program and not a line for a shell."""
    matcher: str = ""
    condition: str = ""
    """The `if` of a hook: a tool with a pattern for its arguments, such as `Bash(rm *)`."""
    timeout_s: float | None = None
    is_async: bool = False
    plugin: Path | None = None
    """The folder of the plugin that brings it."""
    variables: Mapping[str, str] = {}
    """What is added to its environment."""

    @property
    def line(self) -> str:
        return " ".join((self.command, *(self.args or ())))

    @property
    def name(self) -> str:
        matcher = f" ({self.matcher})" if self.matcher not in ("", "*") else ""
        return named(f"{self.event}{matcher}")

    def digest(self, root: Path) -> Digest:
        """Return a digest of what an answer about the hook covers: its definition, and a project's scripts. Blocks."""
        is_ours = self.scope == "project"
        line = self.command if self.args is None else shlex.join((self.command, *self.args))
        marks = marks_from(line, root) if is_ours else ()
        scripts = [[mark.path.removeprefix(f"{root}/"), mark.mark] for mark in marks]
        facts = [
            self.event, self.command, self.args, self.matcher, self.condition, self.timeout_s, self.is_async,
            self.dialect, str(self.path.relative_to(root) if is_ours else self.path), scripts,
        ]  # fmt: skip
        return digest_of(json.dumps(facts).encode(errors="surrogatepass"))


class FoundHooks(Struct, frozen=True):
    hooks: tuple[Hook, ...] = ()
    problems: tuple[FileProblem, ...] = ()

    def __add__(self, other: "FoundHooks") -> "FoundHooks":
        return FoundHooks(self.hooks + other.hooks, self.problems + other.problems)


# --- where they are -----------------------------------------------------------------------------------------------


def home_hooks(environ: Mapping[str, str]) -> FoundHooks:
    """Return the hooks that the user has set up for other programs. Blocks; never raises."""
    home = Path(environ.get("HOME") or Path.home())
    claude = Path(environ.get("CLAUDE_CONFIG_DIR") or home / ".claude")
    codex = Path(environ.get("CODEX_HOME") or home / ".codex")
    places: tuple[tuple[Path, Dialect], ...] = (
        (claude / "settings.json", "claude"),
        (codex / "hooks.json", "codex"),
        (home / ".cursor" / "hooks.json", "cursor"),
        (home / ".copilot" / "hooks", "copilot"),
    )
    return _all_in(places, "home", None, None)


def project_hooks(root: Path, secret_at: SecretAt) -> FoundHooks:
    """Return the hooks that the project in a folder brings. Blocks; never raises."""
    places: tuple[tuple[Path, Dialect], ...] = (
        (root / ".claude" / "settings.json", "claude"),
        (root / ".claude" / "settings.local.json", "claude"),
        (root / ".codex" / "hooks.json", "codex"),
        (root / ".cursor" / "hooks.json", "cursor"),
        (root / ".github" / "hooks", "copilot"),
    )
    return _all_in(places, "project", root, secret_at)


def item_of(hook: Hook, root: Path) -> ProjectItem:
    """Return a project's hook as an item of the trust question. Blocks."""
    detail = named(f"{hook.line} # if {hook.condition}" if hook.condition else hook.line)
    return ProjectItem(kind="hook", name=hook.name, path=hook.path, detail=detail, digest=hook.digest(root))


def hook_items(root: Path, secret_at: SecretAt) -> Iterator[ProjectItem]:
    return (item_of(hook, root) for hook in project_hooks(root, secret_at).hooks)


def _all_in(
    places: Iterable[tuple[Path, Dialect]], scope: Scope, root: Path | None, secret_at: SecretAt | None
) -> FoundHooks:
    found = FoundHooks()
    for place, dialect in places:
        for path in (place,) if place.suffix == ".json" else _files_in(place):
            found += _read(path, dialect, scope, root, secret_at)
    return found


def _read(path: Path, dialect: Dialect, scope: Scope, root: Path | None, secret_at: SecretAt | None) -> FoundHooks:
    try:
        real = path.resolve(strict=True)
        if root is not None and not real.is_relative_to(root.resolve()):
            return _refused(path, "is a link that leads out of the workspace, so its hooks are not read")
        if not real.is_file():
            return _refused(path, "is not a file, so no hooks are read from it")
        content = read_start(real, LONGEST_FILE + 1, secret_at)
    except (FileNotFoundError, NotADirectoryError):
        return FoundHooks()
    except HoldsSecretsError as error:
        return _refused(path, f"is not read for hooks: {error}")
    except (OSError, RuntimeError) as error:  # the latter for circular links
        return _refused(path, f"cannot be read: {why_unread(error)}")
    if len(content) > LONGEST_FILE:
        return _refused(path, f"is larger than {LONGEST_FILE // 1024} KiB, so its hooks are not read")
    return hooks_in(content, path, dialect, scope)


def _files_in(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry, _ in zip(entries, range(1_000), strict=False))
    except OSError:
        return []
    return [folder / name for name in names if name.endswith(".json")][:_MOST_FILES]


def _refused(path: Path, message: str) -> FoundHooks:
    return FoundHooks((), (FileProblem(path, "", message),))


# --- what they say ------------------------------------------------------------------------------------------------


def hooks_in(content: bytes, path: Path, dialect: Dialect, scope: Scope) -> FoundHooks:
    """Return the hooks of a file with this content. Pure; never raises."""
    try:
        document: object = json.loads(content)
    except (ValueError, RecursionError) as error:
        return _refused(path, f"is not valid JSON, so its hooks are not read: {why_unread(error)}")
    values = _object(document)
    if values is None or (listed := _object(values.get("hooks", {}))) is None:
        return _refused(path, 'has no object "hooks", so no hooks are read from it')
    if listed and values.get("disableAllHooks") is True:
        return _refused(path, "switches its hooks off (disableAllHooks)")
    hooks: list[Hook] = []
    problems: list[FileProblem] = []
    for name, entries in listed.items():
        event, matcher = _MEANT.get(dialect, {}).get(name, (name, ""))
        if event not in HOOK_EVENTS:
            problems.append(FileProblem(path, shortened(name, 40), "this event is not known here, so nothing runs"))
            continue
        base = Hook(event=event, command="", path=path, scope=scope, dialect=dialect, matcher=matcher)
        for entry in _flat(entries):
            if len(hooks) == MOST_HOOKS:
                problems.append(FileProblem(path, "", f"has more than {MOST_HOOKS} hooks; the others are not used"))
                return FoundHooks(tuple(hooks), tuple(problems))
            try:
                hooks.append(_hook(base, entry))
            except ValueError as error:
                problems.append(FileProblem(path, name, str(error)))
    return FoundHooks(tuple(hooks), tuple(problems))


def own_hooks(tables: Iterable[FoundTable]) -> FoundHooks:
    """Return the hooks of the user's settings, `[[hooks.definitions]]`."""
    hooks: list[Hook] = []
    problems: list[FileProblem] = []
    for table in tables:
        if table.key != LIST:
            continue
        if table.is_project:
            problems.append(table.problem("a project's hooks belong in .claude/settings.json; this one does not run"))
            continue
        try:
            values = table_of(table.value, _KEYS)
            event = cast("HookEvent", choice_in(values, "event", HOOK_EVENTS))
            hooks.append(_hook(Hook(event=event, command="", path=table.path, scope="own"), values))
        except ValueError as error:
            problems.append(table.problem(str(error)))
    return FoundHooks(tuple(hooks), tuple(problems))


_KEYS = ("event", "command", "args", "matcher", "if", "timeout", "async")
_COMMANDS = ("command", "powershell" if os.name == "nt" else "bash")
_TIMES = ("timeout", "timeoutSec")


def _object(value: object) -> dict[str, object] | None:
    return cast("dict[str, object]", value) if isinstance(value, dict) else None


def _flat(entries: object) -> Iterator[object]:
    """Yield the hooks of a moment: Claude and Codex put them into groups that share a matcher."""
    for entry in cast("list[object]", entries) if isinstance(entries, list) else [entries]:
        group = _object(entry)
        inner = group.get("hooks") if group is not None else None
        if group is None or not isinstance(inner, list):
            yield entry
            continue
        shared = {"matcher": group["matcher"]} if "matcher" in group else {}
        for one in cast("list[object]", inner):
            yield {**shared, **values} if (values := _object(one)) is not None else one


def _hook(base: Hook, entry: object) -> Hook:
    values = _object(entry)
    if values is None:
        raise ValueError("a hook is an object with a command")
    kind = values.get("type", "command")
    if kind != "command":
        raise ValueError(f"hooks of the type {shortened(str(kind), 40)!r} are not supported; only commands are")
    key = next((name for name in _COMMANDS if name in values), "command")
    command, matcher = text_in(values, key, is_needed=True), text_in(values, "matcher")
    if len(command) > _LONGEST_COMMAND:
        raise ValueError(f"its command is longer than {_LONGEST_COMMAND:,} characters")
    if base.matcher:  # an event of Cursor's: its pattern is matched against arguments, so it narrows nothing here
        matcher = base.matcher
    if not _is_plain(matcher):
        try:
            re.compile(matcher)
        except (re.error, RecursionError, OverflowError) as error:
            raise ValueError(f"its matcher is not a regular expression: {error}") from error
    condition = text_in(values, "if")
    if condition and (base.event not in OF_CALLS or _CONDITION.fullmatch(condition) is None):
        raise ValueError("`if` is for calls of tools, and written as Bash(rm *)")
    seconds = next((amount_in(values, name) for name in _TIMES if name in values), None)
    return replace(
        base,
        command=command,
        args=texts_in(values, "args") if "args" in values else None,
        matcher=matcher,
        condition=condition,
        timeout_s=min(seconds, _LONGEST_TIME_S) if seconds else None,
        is_async=flag_in(values, "async"),
    )


_CURSOR: Mapping[str, tuple[HookEvent, str]] = {
    "sessionStart": ("SessionStart", ""),
    "sessionEnd": ("SessionEnd", ""),
    "beforeSubmitPrompt": ("UserPromptSubmit", ""),
    "preToolUse": ("PreToolUse", ""),
    "postToolUse": ("PostToolUse", ""),
    "beforeShellExecution": ("PreToolUse", "Bash"),
    "afterShellExecution": ("PostToolUse", "Bash"),
    "beforeMCPExecution": ("PreToolUse", "mcp__.*"),
    "afterMCPExecution": ("PostToolUse", "mcp__.*"),
    "beforeReadFile": ("PreToolUse", "Read"),
    "afterFileEdit": ("PostToolUse", "Edit|Write"),
    "preCompact": ("PreCompact", ""),
    "subagentStart": ("SubagentStart", ""),
    "subagentStop": ("SubagentStop", ""),
    "stop": ("Stop", ""),
}
_COPILOT: Mapping[str, tuple[HookEvent, str]] = {
    "sessionStart": ("SessionStart", ""),
    "sessionEnd": ("SessionEnd", ""),
    "userPromptSubmitted": ("UserPromptSubmit", ""),
    "preToolUse": ("PreToolUse", ""),
    "permissionRequest": ("PermissionRequest", ""),
    "postToolUse": ("PostToolUse", ""),
    "preCompact": ("PreCompact", ""),
    "subagentStart": ("SubagentStart", ""),
    "subagentStop": ("SubagentStop", ""),
    "agentStop": ("Stop", ""),
    "notification": ("Notification", ""),
}
_MEANT: Mapping[Dialect, Mapping[str, tuple[HookEvent, str]]] = {"cursor": _CURSOR, "copilot": _COPILOT}


# --- which match --------------------------------------------------------------------------------------------------


def is_meant(hook: Hook, names: Collection[str]) -> bool:
    """Whether the hook's matcher names one of `names`, such as a tool's; without names, every matcher does."""
    if hook.matcher in ("", "*") or not names:
        return True
    if _is_plain(hook.matcher):
        return not set(names).isdisjoint(part.strip() for part in re.split(r"[|,]", hook.matcher))
    return any(re.search(hook.matcher, name) for name in names)


def _is_plain(matcher: str) -> bool:
    return re.fullmatch(r"[\w|, -]*\*?", matcher) is not None and (matcher == "*" or "*" not in matcher)


_CONDITION = regex(r"([\w*-]+)(?:\((.*)\))?", re.DOTALL)
_OF_PATHS = ("file_path", "path", "notebook_path")


def condition_holds(hook: Hook, names: Collection[str], given: Mapping[str, object], root: Path) -> bool:
    """Whether the hook's `if` covers a call with these names and arguments (`given`).

    It covers every command that cannot be parsed, because no command must slip past a hook that checks commands.
    """
    found = _CONDITION.fullmatch(hook.condition)
    if found is None:
        return True
    tool, pattern = found[1], found[2]
    if not any(_is_like(tool, name) for name in names):
        return False
    if not pattern:
        return True
    if isinstance(command := given.get("command"), str):
        return _names_command(pattern, command)
    path = next((value for name in _OF_PATHS if isinstance(value := given.get(name), str)), None)
    if path is None:
        return True
    place = path.removeprefix(f"{root}/") if pattern[0] not in "/~" else path
    pattern = pattern.removeprefix("//").join(("/", "")) if pattern.startswith("//") else pattern
    pattern = pattern.replace("**/", "**").removeprefix("./")
    return _is_like(pattern, place) or ("/" not in pattern and _is_like(pattern, place.rpartition("/")[2]))


def _names_command(pattern: str, command: str) -> bool:
    parsed = parse(command)
    if parsed.problems:
        return True
    if pattern.endswith(":*"):
        pattern = f"{pattern[:-2]} *"
    lines = [command.strip()]
    for segment in parsed.segments:
        lines += (parsed.source(segment).strip(), " ".join(segment.words))
    bare = pattern.removesuffix(" *")
    return any(_is_like(pattern, line) or line == bare for line in lines)


def _is_like(pattern: str, text: str) -> bool:
    """Whether `text` has the parts of `pattern` between its `*`, in order."""
    first, *others = pattern.split("*")
    if not others:
        return text == first
    if not text.startswith(first):
        return False
    at = len(first)
    for part in others[:-1]:
        at = text.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return len(text) - at >= len(others[-1]) and text.endswith(others[-1])
