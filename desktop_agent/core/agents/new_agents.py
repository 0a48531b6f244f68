"""New agents from files of others: Zed's settings, and a list of the agents' registry. Downloads and starts nothing."""

import json
import platform
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from desktop_agent.core.agents.definition import AgentDefinition, agent_in
from desktop_agent.core.agents.installed import known_agent
from desktop_agent.core.base.errors import UsageError
from desktop_agent.core.base.regex import regex
from desktop_agent.core.extensions.plugins import plain_name
from desktop_agent.core.protocol.codec import as_object, text_in
from desktop_agent.core.settings.loading import UnreadableError, read_plain
from desktop_agent.core.settings.table_file import words_in

_LARGEST_BYTES = 2**24

# A quoted text is matched first, so that no comment or comma is seen inside it.
_COMMENT = regex(r'("(?:\\.|[^"\\])*+")|//[^\n]*+|/\*.*?\*/', re.DOTALL)
_LAST_COMMA = regex(r'("(?:\\.|[^"\\])*+")|,(?=\s*+[\]}])')


def zed_settings(environ: Mapping[str, str]) -> Path:
    if sys.platform == "win32":
        return Path(environ.get("APPDATA", "")) / "Zed" / "settings.json"
    home = environ.get("XDG_CONFIG_HOME", "") if sys.platform != "darwin" else ""
    return (Path(home) if home else Path(environ.get("HOME", "")) / ".config") / "zed" / "settings.json"


def agents_of_zed(path: Path) -> tuple[tuple[AgentDefinition, ...], tuple[tuple[str, str], ...]]:
    """Return the agents in Zed's settings, and for each unusable one its name and the reason.

    Blocks. Raises `UsageError` for a file that cannot be read or has no agents.
    """
    entries = as_object(_document(path).get("agent_servers"))
    if not entries:
        raise UsageError(f"There are no agents in {path}.", hint='Zed lists them as "agent_servers".')
    agents: list[AgentDefinition] = []
    problems: list[tuple[str, str]] = []
    for name, entry in entries.items():
        try:
            agents.append(_of_zed(name, as_object(entry)))
        except ValueError as error:
            problems.append((name, str(error)))
    return tuple(agents), tuple(problems)


def _of_zed(name: str, entry: Mapping[str, object]) -> AgentDefinition:
    if "command" not in entry:
        known = known_agent(name.removesuffix("-acp"))
        where = (
            f"`{known.install}` installs it for all" if known is not None else "add it with --from from the registry"
        )
        raise ValueError(f"Zed installs it for itself; {where}")
    taken = {key: entry[key] for key in ("command", "args", "env") if entry.get(key)}
    return agent_in({"name": plain_name(name), **taken, "mode": entry.get("default_mode") or ""})


def agent_of_registry(path: Path, wanted: str) -> tuple[AgentDefinition, str]:
    """Return an agent, by its id, from a file of the registry, and the address of its archive if it needs one.

    An agent's own file needs no id. Blocks. Raises `UsageError`.
    """
    document = _document(path)
    listed: object = document.get("agents", [document] if "distribution" in document else None)
    entries = map(as_object, cast("list[object]", listed) if isinstance(listed, list) else [])
    agents = {text_in(entry, "id"): entry for entry in entries}
    if not agents:
        raise UsageError(f"There are no agents in {path}.", hint='A file of the registry lists them as "agents".')
    agent_id = wanted or (next(iter(agents)) if len(agents) == 1 else "")
    if agent_id not in agents:
        title = f"{path} has no agent {wanted!r}." if wanted else f"{path} has {len(agents)} agents: name one."
        raise UsageError(title, hint=f"Available: {', '.join(agents)}.")
    try:
        start, archive = _start(as_object(agents[agent_id].get("distribution")))
        return agent_in({"name": plain_name(agent_id), **start}), archive
    except ValueError as error:
        raise UsageError(f"The agent {agent_id!r} cannot be added: {error}.") from error


def _start(distribution: Mapping[str, object]) -> tuple[dict[str, object], str]:
    """Return what starts an agent: `npx` or `uvx`, which download it then, or a program that the user must install."""
    for runner, options in (("npx", ["-y"]), ("uvx", [])):
        way = as_object(distribution.get(runner))
        if package := text_in(way, "package"):
            args = [*options, package, *words_in(way, "args")]
            return {"command": runner, "args": args, "env": way.get("env") or {}}, ""
    binaries, machine = as_object(distribution.get("binary")), platform.machine().lower()
    system = "windows" if sys.platform == "win32" else sys.platform
    target = f"{system}-{_MACHINES.get(machine, machine)}"
    way = as_object(binaries.get(target))
    program = re.split(r"[/\\]", text_in(way, "cmd"))[-1]
    if not program:
        raise ValueError(f"it is not offered for {target}, only for {', '.join(binaries) or 'what is not known here'}")
    return {"command": program, "args": way.get("args") or [], "env": way.get("env") or {}}, text_in(way, "archive")


_MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}


def _document(path: Path) -> Mapping[str, object]:
    """Return the object in a JSON file, which may have comments and trailing commas."""
    try:
        text = read_plain(path, _LARGEST_BYTES).decode("utf-8-sig")
        return as_object(cast("object", json.loads(without_comments(text))))
    except FileNotFoundError as error:
        raise UsageError(f"There is no file {path}.") from error
    except UnreadableError as error:
        raise UsageError(f"{path} {error}.") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not JSON.", detail=str(error)) from error


def without_comments(text: str) -> str:
    for pattern in (_COMMENT, _LAST_COMMA):
        text = pattern.sub(lambda match: match[1] or " ", text)
    return text
