"""`desktop-agent mcp`: shows which servers are defined, known and logged; defines, switches and removes them."""

import argparse
import asyncio
import os
import shlex
from contextlib import suppress
from pathlib import Path
from typing import cast

from desktop_agent.cli.config import lines_about_unused, tables_waiting_for_trust, unread_files
from desktop_agent.cli.console import Console, table, typed_secret
from desktop_agent.cli.extensions import extensions_in
from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.base.errors import CredentialsError, UsageError
from desktop_agent.core.base.paths import AppPaths, real_path
from desktop_agent.core.mcp.definition import Program, ServerDefinition, ServerSandbox, sandbox_table
from desktop_agent.core.mcp.definition_file import (
    LIST,
    add_definitions,
    definition_in,
    read_definitions,
    remove_definition,
    server_name,
    switch_server,
    switch_tool,
)
from desktop_agent.core.mcp.new_servers import KNOWN_SERVERS, known_server, servers_in_file
from desktop_agent.core.mcp.trust import ToolTrust
from desktop_agent.core.protocol.codec import picked
from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.providers.auth.server_sign_ins import ServerKeyring, ServerSignIns, define_server, forget_server
from desktop_agent.core.system.workspace import current_folder

NOTHING = "No MCP server is defined. `desktop-agent mcp add NAME -- COMMAND ARGS…` defines one."


def required_definition(paths: AppPaths, workspace: Path, name: str) -> ServerDefinition:
    """Return a server's definition. Raises `UsageError` when there is no server with this name. Blocks."""
    settings = extensions_in(paths, workspace).settings
    definition = read_definitions(settings.loaded.tables).named(name)
    if definition is None:
        hint = "`desktop-agent mcp list` lists those that are."
        detail = "\n".join(unread_files(settings, LIST))
        raise UsageError(f"No server named {name!r} is defined.", hint=hint, detail=detail)
    return definition


def list_servers(args: argparse.Namespace, console: Console) -> None:
    folder = real_path(args.workspace or current_folder())
    settings = extensions_in(AppPaths.from_environment(), folder).settings
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
    problems = [*unread_files(settings, LIST), *map(str, found.problems)]
    proposed = [server.name for server in read_definitions(tables_waiting_for_trust(settings)).servers]
    changed = [name for name, state, by, *_ in rows if (state, by) == (_WAITING, "project")]
    waiting = list(dict.fromkeys((*proposed, *changed)))
    lines = [table(rows) if rows else NOTHING, *lines_about_unused(problems, waiting)]
    console.result({"servers": documents, "problems": problems, "waiting_for_trust": waiting}, "\n".join(lines))


_WAITING = "waiting for trust"


def _state(server: ServerDefinition, workspace: Path) -> str:
    if not server.is_enabled:
        return "disabled"
    if server.may_start is not None and not server.may_start():
        return _WAITING
    return "program not found" if server.missing_program(os.environ, workspace) else "starts when needed"


def _short(server: ServerDefinition) -> str:
    if not isinstance(server.reached_by, Program):
        return "elsewhere"
    return "not confined" if server.reached_by.sandbox is None else "confined"


def list_known(_args: argparse.Namespace, console: Console) -> None:
    known = [picked(each, "name", "about", "needs", "where", "confinement") for each in KNOWN_SERVERS]
    rows = [
        f"{each.name}: {each.about}\n  needs  {each.needs}\n  runs   {each.where}"
        + (f"\n  {each.confinement}" if each.confinement else "")
        for each in KNOWN_SERVERS
    ]
    console.result({"servers": known}, "\n".join(rows))


def show_log(args: argparse.Namespace, console: Console) -> None:
    name: str = args.name
    kept: list[Path] = []
    with suppress(ValueError):  # a name that no server can have is no file's either
        stem = AppPaths.from_environment().logs / "mcp" / server_name({"name": name})
        kept = [path for path in (stem.with_name(f"{name}.old.log"), stem.with_name(f"{name}.log")) if path.is_file()]
    if not kept:
        raise UsageError(f"There is no log of a server named {name!r}.", hint="It is written once the server runs.")
    text = "".join(path.read_text(encoding="utf-8", errors="replace") for path in kept)
    console.result({"name": name, "path": str(kept[-1]), "log": text}, text)


def add(args: argparse.Namespace, console: Console) -> None:
    definition = _added(args)
    define_server(_settings_file(), definition, ServerKeyring(tell=console.say), _client_secret(args))
    text = f"{definition.name} is defined. `desktop-agent mcp test {definition.name}` says whether it works."
    document: JsonObject = picked(definition, "name", "where", "confinement")
    console.result(document, "\n".join(filter(None, (text, definition.confinement))))


def _settings_file() -> Path:
    return AppPaths.from_environment().settings_file()


def remove(args: argparse.Namespace, console: Console) -> None:
    """Remove a server, and only then its stored secrets, so that a locked keyring cannot prevent the removal."""
    name, definition = args.name, remove_definition(_settings_file(), args.name)
    if definition is not None:
        try:
            asyncio.run(_forget(definition, ServerKeyring(tell=console.say)))  # noqa: TID251 - entry point
        except CredentialsError as error:
            way = definition.reached_by
            if way.secret_env if isinstance(way, Program) else way.secret_headers or way.client_id:
                title = f"{name} is no longer defined, but its secrets are still in the keyring. {error.title}"
                raise CredentialsError(title, hint=error.hint, detail=error.detail) from error
            console.say(f"Whether the keyring has a sign-in with it is not known. {error.title}")
    console.result({"name": name, "removed": True}, f"{name} is no longer defined.")


async def _forget(definition: ServerDefinition, keyring: ServerKeyring) -> None:
    paths = AppPaths.from_environment()
    sign_ins = ServerSignIns(keyring, paths.data, SystemClock())
    await forget_server(definition, sign_ins, ToolTrust(paths.tool_trust))


def _client_secret(args: argparse.Namespace) -> str:
    """Ask for the secret without showing it. From a pipe read everything, because a private key has several lines."""
    if not args.client_secret:
        return ""
    hint = "Type it at the prompt, or pipe it in."
    return typed_secret("Client secret: ", UsageError("No client secret was given.", hint=hint), is_whole=True)


def _added(args: argparse.Namespace) -> ServerDefinition:
    command: list[str] = args.command_line
    values: dict[str, object] = {"name": args.name}
    url: str = args.url
    sandbox: ServerSandbox | None = None
    if args.known and not url and not command:
        known = known_server(args.known)
        where, sandbox = known.where, known.sandbox
        url, command = (where, []) if where.startswith("https://") else ("", shlex.split(where))
    elif args.known or (url and command):
        raise UsageError("A server needs a command, a --url or a --from, and only one of them.")
    if url:
        if args.sandbox or args.folders or args.read_folders or args.hosts:
            raise UsageError("A server at an address runs elsewhere: nothing here confines it.")
        values |= {"url": url, "headers": [item.replace(": ", "=", 1) for item in args.header]}
        values |= {"client_id": args.client_id, "issuer": args.issuer, "grant": args.grant}
        values |= {"callback_port": args.callback_port} if args.callback_port is not None else {}
    elif command:
        values |= {"command": command[0], "args": command[1:], "env": args.env}
        values |= {"cwd": str(real_path(args.cwd.expanduser()))} if args.cwd else {}
        values |= _confined(args, sandbox)
    else:
        raise UsageError(
            "Give the command that starts the server, after --, or its address, with --url.",
            hint="For example: desktop-agent mcp add git -- uvx mcp-server-git",
        )
    if args.client_secret and not (url and args.client_id):
        raise UsageError("A client secret belongs to a --client-id of a server at a --url.")
    try:
        return definition_in({key: value for key, value in values.items() if value not in ([], "", None)})
    except ValueError as error:
        raise UsageError(f"The server cannot be defined like this: {error}.") from error


def _confined(args: argparse.Namespace, usual: ServerSandbox | None) -> dict[str, object]:
    is_confined = usual is not None if args.sandbox is None else bool(args.sandbox)
    added: dict[str, list[str]] = {key: getattr(args, key) for key in ("folders", "read_folders", "hosts")}
    if not is_confined:
        if any(added.values()):
            raise UsageError(
                "--folder, --read-folder and --host are for a server in the sandbox.", hint="Add --sandbox."
            )
        return {}
    known = sandbox_table(usual or ServerSandbox())
    return known | {key: [*cast("list[str]", known.get(key, [])), *texts] for key, texts in added.items() if texts}


def switch(args: argparse.Namespace, console: Console) -> None:
    is_enabled = args.action == "enable"
    name, slash, tool = args.name.partition("/")
    if slash and not tool:
        raise UsageError("No tool is named behind the '/'.", hint=f"Leave the '/' out to switch all of {name!r}.")
    if tool:
        switch_tool(_settings_file(), name, tool, is_enabled=is_enabled)
    else:
        switch_server(_settings_file(), name, is_enabled=is_enabled)
    text = f"{f'The tool {tool} of {name}' if tool else name} is {'used' if is_enabled else 'not used'}."
    console.result({"name": name, "tool": tool or None, "enabled": is_enabled}, text)


def import_servers(args: argparse.Namespace, console: Console) -> None:
    found = servers_in_file(args.file)
    refused = add_definitions(_settings_file(), found.servers, ServerKeyring(tell=console.say))
    problems = [f"{name}: {why}" for name, why in (*found.problems, *refused)]
    added = [server for server in found.servers if server.name not in dict(refused)]
    lines = [f"{server.name}: {server.where}" for server in added]
    lines += [f"Left out: {problem}" for problem in problems]
    document: JsonObject = {"servers": [server.name for server in added], "problems": problems}
    console.result(document, "\n".join(lines) or "There is no server in the file.")
