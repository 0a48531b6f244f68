"""`desktop-agent mcp list | catalogue | logs`: what is or could be defined, and what a server said. Starts nothing."""

import argparse
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from desktop_agent.cli.console import Console, table
from desktop_agent.core.base.errors import UsageError
from desktop_agent.core.base.paths import AppPaths, real_path
from desktop_agent.core.mcp.definition import Program, ServerDefinition
from desktop_agent.core.mcp.definition_file import LIST, read_definitions, server_name
from desktop_agent.core.mcp.new_servers import KNOWN_SERVERS
from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.settings.live_settings import LiveSettings
from desktop_agent.core.settings.workspace_settings import ProjectTrust, WorkspaceSettings
from desktop_agent.core.system.workspace import current_folder

NOTHING = "No MCP server is defined. `desktop-agent mcp add NAME -- COMMAND ARGS…` defines one."


_SECTION = LIST.partition(".")[0]


def main(args: argparse.Namespace, console: Console) -> int:
    """Carry out one of the subcommands."""
    paths = AppPaths.from_environment()
    workspace = real_path(args.workspace or current_folder())
    match args.action:
        case "list":
            _list(settings_in(paths, workspace), console)
        case "catalogue":
            _catalogue(console)
        case "logs":
            _logs(args.name, paths, console)
        case _:
            raise AssertionError(args.action)
    return 0


def settings_in(paths: AppPaths, workspace: Path) -> WorkspaceSettings:
    """Return the settings of a folder, read. Blocks."""
    live = LiveSettings.load(paths.settings_file(), os.environ)
    settings = WorkspaceSettings(live, workspace, ProjectTrust(paths.project_answers))
    settings.look()
    return settings


def required_definition(paths: AppPaths, workspace: Path, name: str) -> ServerDefinition:
    """Return the server of that name. Raises `UsageError` when there is none. Blocks."""
    settings = settings_in(paths, workspace)
    definition = read_definitions(settings.loaded.tables).named(name)
    if definition is None:
        hint = "`desktop-agent mcp list` lists those that are."
        detail = "\n".join(_unread_files(settings))
        raise UsageError(f"No server named {name!r} is defined.", hint=hint, detail=detail)
    return definition


def _list(settings: WorkspaceSettings, console: Console) -> None:
    found = read_definitions(settings.loaded.tables)
    rows = [
        (server.name, _state(server, settings.root), server.defined_by, _short(server), server.where)
        for server in found.servers
    ]
    documents: list[JsonObject] = [
        {
            "name": server.name,
            "state": state,
            "enabled": server.is_enabled,
            "defined_by": defined_by,
            "where": where,
            "disabled_tools": list(server.disabled_tools),
            "confinement": server.confinement,
        }
        for server, (_, state, defined_by, _, where) in zip(found.servers, rows, strict=True)
    ]
    problems = [*_unread_files(settings), *map(str, found.problems)]
    waiting = _waiting_for_trust(settings)
    text = table(rows) if rows else NOTHING
    document: JsonObject = {"servers": documents, "problems": problems, "waiting_for_trust": waiting}
    console.result(document, "\n".join([text, *_below(problems, waiting)]))


def _below(problems: Sequence[str], waiting: Sequence[str]) -> list[str]:
    lines: list[str] = []
    if problems:
        lines += ["", "Not used, because of what is wrong with it:", *problems]
    if waiting:
        lines += [
            "",
            f"Not used before you trust the project's settings (`desktop-agent config trust`): {', '.join(waiting)}.",
        ]
    return lines


def _unread_files(settings: WorkspaceSettings) -> list[str]:
    """What is wrong with a whole file or its list of servers, so that none of the servers in it are there."""
    proposal = settings.proposal
    unanswered = proposal.problems if proposal is not None and settings.answer is None else ()
    problems = (*settings.loaded.problems, *unanswered)
    return [str(problem) for problem in problems if problem.is_about_the_file or problem.key in (LIST, _SECTION)]


def _waiting_for_trust(settings: WorkspaceSettings) -> list[str]:
    """The servers of a project's file to which the user has said neither yes nor no as it is now."""
    proposal = settings.proposal
    if proposal is None or settings.answer is not None:
        return []
    return [server.name for server in read_definitions(proposal.tables).servers]


def _state(server: ServerDefinition, workspace: Path) -> str:
    """What can be said without starting it."""
    if not server.is_enabled:
        return "disabled"
    return "program not found" if server.missing_program(os.environ, workspace) else "starts when needed"


def _short(server: ServerDefinition) -> str:
    if not isinstance(server.reached_by, Program):
        return "elsewhere"
    return "not confined" if server.reached_by.sandbox is None else "confined"


def _catalogue(console: Console) -> None:
    known: list[JsonObject] = [
        {
            "name": each.name,
            "about": each.about,
            "needs": each.needs,
            "where": each.where,
            "confinement": each.confinement,
        }
        for each in KNOWN_SERVERS
    ]
    rows = [
        f"{each.name}: {each.about}\n  needs  {each.needs}\n  runs   {each.where}"
        + (f"\n  {each.confinement}" if each.confinement else "")
        for each in KNOWN_SERVERS
    ]
    console.result({"servers": known}, "\n".join(rows))


def _logs(name: str, paths: AppPaths, console: Console) -> None:
    kept: list[Path] = []
    with suppress(ValueError):  # what names no server names no file either
        stem = paths.logs / "mcp" / server_name({"name": name})
        kept = [path for path in (stem.with_name(f"{name}.old.log"), stem.with_name(f"{name}.log")) if path.is_file()]
    if not kept:
        raise UsageError(f"There is no log of a server named {name!r}.", hint="It is written once the server runs.")
    text = "".join(path.read_text(encoding="utf-8", errors="replace") for path in kept)
    console.result({"name": name, "path": str(kept[-1]), "log": text}, text)
