"""Sub-agents' roles: the application's own, and those in files, ours and those of Claude Code, Copilot and Codex.

A role narrows what a sub-agent may do, and grants nothing. Files are read as those of skills are (`skills.py`).
"""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Final, Literal, cast

from msgspec import Struct
from msgspec.structs import replace

from desktop_agent.core.base.plain_text import shortened
from desktop_agent.core.base.regex import regex
from desktop_agent.core.extensions.skills import Origin, Source, SourceFolders, text_of
from desktop_agent.core.extensions.untrusted import FrontMatter, split, why_unread
from desktop_agent.core.settings.workspace_settings import ProjectItem


class AgentRole(Struct, frozen=True, kw_only=True):
    """A role narrows what the session may do, and never widens it."""

    name: str
    description: str
    """When to use it, for the model."""
    instructions: str = ""
    only_reads: bool = False
    tools: tuple[str, ...] | None = None
    """The only tools that it has; `None` for all of the session's."""
    blocked_tools: tuple[str, ...] = ()
    model: str = ""
    """The name of a model of the session's provider; empty for the session's model."""
    effort: str = ""
    max_requests: int | None = None
    has_worktree: bool = False
    """Whether it works in its own git worktree."""
    agent: str = ""
    """The agent of another program that runs in its place, by name or command line; only in the user's own files."""
    path: str = ""
    """The file that defines it; empty for the application's own."""


GENERAL = AgentRole(
    name="general",
    description="Any task of several steps, also one that changes files or runs commands.",
)
EXPLORE = AgentRole(
    name="explore",
    description="Finds things out, and changes nothing: where something is, how it works, what uses it.",
    only_reads=True,
)
OWN_ROLES = (GENERAL, EXPLORE)


MOST_ROLES: Final = 50
_MAX_FOLDERS = 500
_MAX_DESCRIPTION = 400
_NAME = regex(r"[A-Za-z0-9][\w.-]{0,63}", re.ASCII)

_PLACES: Final = (
    (".desktop-agent/agents", ".md"), (".claude/agents", ".md"), (".github/agents", ".agent.md"),
    (".codex/agents", ".toml"),
)  # fmt: skip
_OF_HOME: Final = ((".claude/agents", ".md"), (".copilot/agents", ".agent.md"), (".codex/agents", ".toml"))

_EDIT: Final = ("edit_file", "apply_patch", "line_edit", "template_block", "create_file", "rename_file", "delete_file")
_SEARCH: Final = ("grep", "glob_file_search", "codebase_search", "list_files")
_WEB: Final = ("web_fetch", "web_search")
_TOOLS: Mapping[str, tuple[str, ...]] = {
    "read": ("read_file", "view_image"), "grep": ("grep",), "glob": ("glob_file_search",), "ls": ("list_files",),
    "search": _SEARCH, "bash": ("run_terminal_cmd",), "shell": ("run_terminal_cmd",),
    "execute": ("run_terminal_cmd",), "edit": _EDIT, "multiedit": _EDIT, "notebookedit": _EDIT,
    "write": ("create_file",), "webfetch": ("web_fetch",), "websearch": ("web_search",), "web": _WEB,
    "todowrite": ("todo_write",), "todo": ("todo_write",), "agent": ("task",), "task": ("task",),
}  # fmt: skip
"""Our tools, by the names that other programs use."""


class RoleFile(Struct, frozen=True, kw_only=True):
    role: AgentRole
    path: Path
    place: str
    """The folder it is in, as the user knows it: `.claude/agents`."""
    origin: Origin
    plugin: str = ""
    problem: str = ""
    """Why it cannot be used."""

    @property
    def needs_trust(self) -> bool:
        return self.origin == "project" and not self.plugin


State = Literal["ready", "untrusted", "unusable"]


class ListedRole(Struct, frozen=True):
    file: RoleFile
    state: State
    reason: str = ""


class RoleFolders(SourceFolders[RoleFile]):
    def read(self) -> tuple[RoleFile, ...]:
        """Return the project's roles, then the user's, then the plugins'. Blocks; never raises."""
        return tuple(islice(self._each(_MAX_FOLDERS, role_at), MOST_ROLES))

    def _sources(self) -> Iterator[Source]:
        for place, suffix in _PLACES:
            yield Source(
                folder=self._root / place, place=place, suffix=suffix, origin="project", within=self._root,
                secret_at=self._secret_at(),
            )  # fmt: skip
        yield Source(folder=self._homes.config / "agents", place="agents", suffix=".md", origin="person")
        for place, suffix in _OF_HOME:
            homes = self._homes
            yield Source(folder=homes.at(place), place=homes.shown(place), suffix=suffix, origin="person")
        yield from self._of_plugins()


def listed(files: Sequence[RoleFile], *, is_trusted: bool) -> tuple[ListedRole, ...]:
    """Return the state of each role. Of several with one name, the first is used."""
    taken: dict[str, RoleFile] = {}

    def state(file: RoleFile) -> ListedRole:
        if file.problem:
            return ListedRole(file, "unusable", file.problem)
        if file.needs_trust and not is_trusted:
            return ListedRole(file, "untrusted")
        first = taken.setdefault(file.role.name, file)
        if first is not file:
            return ListedRole(file, "unusable", f"another role has this name, in {first.path}")
        return ListedRole(file, "ready")

    return tuple(map(state, files))


def roles_in_force(files: Sequence[RoleFile], *, is_trusted: bool) -> tuple[AgentRole, ...]:
    """Return our own roles and those of files, which replace ours of the same name."""
    ready = [one.file.role for one in listed(files, is_trusted=is_trusted) if one.state == "ready"]
    names = {role.name for role in ready}
    return (*(role for role in OWN_ROLES if role.name not in names), *ready)


def role_items(files: Sequence[RoleFile]) -> tuple[ProjectItem, ...]:
    """Return what the question about the project's trust shows."""
    return tuple(
        ProjectItem(kind="agent", name=file.role.name, path=file.path, detail=file.role.description)
        for file in files
        if file.needs_trust and not file.problem
    )


def role_at(path: Path, parts: tuple[str, ...], source: Source) -> RoleFile:
    try:
        real, text = text_of(path, source)
        found = _of_toml(text) if source.suffix == ".toml" else split(text)
        problem = found.problem
    except ValueError as error:
        real, found, problem = path, FrontMatter(), str(error)
    except (OSError, RuntimeError) as error:  # the latter for a link that leads to itself, before Python 3.13
        real, found, problem = path, FrontMatter(), f"it cannot be read: {why_unread(error)}"
    name = found.text("name") or parts[-1]
    description = " ".join(found.text("description").split())
    if not problem and not _NAME.fullmatch(name):
        name, problem = parts[-1], "its name has characters other than letters, digits, `-`, `_` and `.`"
    if not problem and not description:
        problem = "it has no description"
    if not problem and not found.body:
        problem = "it has no instructions"
    if source.plugin:
        found = replace(found, body=found.body.replace("${CLAUDE_PLUGIN_ROOT}", str(source.within)))
    full = source.full_name(":".join((*parts[:-1], name))) if source.plugin else name
    role = _role(full, description, found, real)
    if source.origin == "person" and not source.plugin:  # text of a project or a plugin must not start a program
        role = replace(role, agent=found.text("agent"))
    if role.agent and not problem and (role.only_reads or role.blocked_tools or role.tools is not None):
        problem = "an agent of another program cannot be kept to some tools"
    return RoleFile(role=role, path=real, place=source.place, origin=source.origin, plugin=source.plugin,
                    problem=problem)  # fmt: skip


def _role(name: str, description: str, found: FrontMatter, path: Path) -> AgentRole:
    model, turns = found.text("model"), found.text("maxturns")
    named = found.texts("tools")
    is_all = not named or "*" in named
    return AgentRole(
        name=name,
        description=shortened("".join(sign if sign.isprintable() else " " for sign in description), _MAX_DESCRIPTION),
        instructions=found.body,
        only_reads=found.text("permissionmode") == "plan" or found.text("sandbox_mode") == "read-only",
        tools=None if is_all else _ours(named),
        blocked_tools=_ours(found.texts("disallowedtools")),
        model="" if model == "inherit" else model,
        effort=found.text("effort"),
        max_requests=int(turns) if turns.isdecimal() and 0 < len(turns) < 5 and int(turns) else None,
        has_worktree=found.text("isolation") == "worktree",
        path=str(path),
    )


def _ours(names: Sequence[str]) -> tuple[str, ...]:
    """Return our names of tools. `Bash(git:*)` names the whole tool; the session decides what it may run."""
    found: dict[str, None] = {}
    for given in names:
        name = given.partition("(")[0].strip().removesuffix("/*")
        server, _, tool = name.removeprefix("mcp__").partition("__")
        if name.startswith("mcp__"):
            found[f"{server}/{tool}" if tool and tool != "*" else server] = None
        else:
            found |= dict.fromkeys(_TOOLS.get(name.lower(), (name,)))
    return tuple(found)


def _of_toml(text: str) -> FrontMatter:
    """Read a sub-agent of Codex. Raises `ValueError`."""
    try:
        found = cast("Mapping[str, object]", tomllib.loads(text))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ValueError(f"it is not valid TOML: {error}") from None
    fields = {name: value for name, value in found.items() if isinstance(value, str)}
    effort = fields.get("model_reasoning_effort", "")
    return FrontMatter({**fields, "effort": effort}, fields.get("developer_instructions", "").strip())
