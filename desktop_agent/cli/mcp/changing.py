"""`desktop-agent mcp add | remove | enable | disable | import`: what stands in the settings file."""

import argparse
import asyncio
import getpass
import shlex
import sys
from pathlib import Path
from typing import cast

from desktop_agent.cli.console import Console
from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.base.errors import CredentialsError, UsageError
from desktop_agent.core.base.paths import AppPaths, real_path
from desktop_agent.core.mcp.definition import Address, ServerDefinition, ServerSandbox, sandbox_table
from desktop_agent.core.mcp.definition_file import (
    add_definitions,
    definition_in,
    remove_definition,
    switch_server,
    switch_tool,
)
from desktop_agent.core.mcp.new_servers import known_server, servers_in_file
from desktop_agent.core.mcp.trust import ToolTrust
from desktop_agent.core.providers.auth.server_credentials import ServerKeyring
from desktop_agent.core.providers.auth.server_sign_ins import ServerSignIns, define_server, forget_server


def main(args: argparse.Namespace, console: Console) -> int:
    """Carry out one of the subcommands."""
    path = AppPaths.from_environment().settings_file()
    match args.action:
        case "add":
            definition = _added(args)
            define_server(path, definition, ServerKeyring(tell=console.say), _client_secret(args))
            text = f"{definition.name} is defined. `desktop-agent mcp test {definition.name}` says whether it works."
            confinement = definition.confinement
            document: dict[str, object] = {"name": definition.name, "where": definition.where}
            console.result(document | {"confinement": confinement}, "\n".join(filter(None, (text, confinement))))
        case "remove":
            _remove(path, args.name, console)
        case "enable" | "disable":
            _switch(path, args.name, is_enabled=args.action == "enable", console=console)
        case "import":
            _import(path, args.file, console)
        case _:
            raise AssertionError(args.action)
    return 0


def _remove(path: Path, name: str, console: Console) -> None:
    """Take a server out, then what is kept of it: a keyring that is locked must not keep it."""
    definition = remove_definition(path, name)
    if definition is not None:
        try:
            asyncio.run(_forget(definition, ServerKeyring(tell=console.say)))  # noqa: TID251 - entry point
        except CredentialsError as error:
            address = definition.reached_by
            if isinstance(address, Address) and (address.secret_headers or address.client_id):
                title = f"{name} is no longer defined, but its secrets are still in the keyring. {error.title}"
                raise CredentialsError(title, hint=error.hint, detail=error.detail) from error
            console.say(f"Whether the keyring has a sign-in with it is not known. {error.title}")
    console.result({"name": name, "removed": True}, f"{name} is no longer defined.")


async def _forget(definition: ServerDefinition, keyring: ServerKeyring) -> None:
    paths = AppPaths.from_environment()
    sign_ins = ServerSignIns(keyring, paths.data, SystemClock())
    await forget_server(definition, sign_ins, ToolTrust(paths.tool_trust))


def _client_secret(args: argparse.Namespace) -> str:
    """Ask for the secret without showing it, or read all of a pipe, as a private key has several lines."""
    if not args.client_secret:
        return ""
    secret = (getpass.getpass("Client secret: ") if sys.stdin.isatty() else sys.stdin.read()).strip()
    if not secret:
        raise UsageError("No client secret was given.", hint="Type it at the prompt, or pipe it in.")
    return secret


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
        raise UsageError("A server is started by a command, reached at a URL, or from the catalogue: one of them.")
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
            "Say how the server is started, behind --, or reached, with --url.",
            hint="For example: desktop-agent mcp add git -- uvx mcp-server-git",
        )
    if args.client_secret and not (url and args.client_id):
        raise UsageError("A client secret belongs to a --client-id of a server at a --url.")
    return _read(values)


def _confined(args: argparse.Namespace, usual: ServerSandbox | None) -> dict[str, object]:
    """Return what the table says of the sandbox: what is usual for the server, and what the options add."""
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


def _read(values: dict[str, object]) -> ServerDefinition:
    try:
        return definition_in({key: value for key, value in values.items() if value not in ([], "", None)})
    except ValueError as error:
        raise UsageError(f"The server cannot be defined so: {error}.") from error


def _switch(path: Path, named: str, *, is_enabled: bool, console: Console) -> None:
    name, slash, tool = named.partition("/")
    if slash and not tool:
        raise UsageError("No tool is named behind the '/'.", hint=f"Leave the '/' out to switch all of {name!r}.")
    word = "used" if is_enabled else "not used"
    if tool:
        switch_tool(path, name, tool, is_enabled=is_enabled)
        text = f"The tool {tool} of {name} is {word}."
    else:
        switch_server(path, name, is_enabled=is_enabled)
        text = f"{name} is {word}."
    console.result({"name": name, "tool": tool or None, "enabled": is_enabled}, text)


def _import(path: Path, file: Path, console: Console) -> None:
    found = servers_in_file(file)
    servers = found.servers
    add_definitions(path, servers, ServerKeyring(tell=console.say))
    problems = [f"{name}: {why}" for name, why in found.problems]
    lines = [f"{server.name}: {server.where}" for server in servers]
    lines += [f"Left out: {problem}" for problem in problems]
    document: dict[str, object] = {"servers": [server.name for server in servers], "problems": problems}
    console.result(document, "\n".join(lines) or "There is no server in the file.")
