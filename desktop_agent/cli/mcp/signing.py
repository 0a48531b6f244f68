"""`desktop-agent mcp sign-in | sign-out NAME`: servers at an address that want the user, by the browser."""

import argparse
import asyncio
import os

from desktop_agent.cli.auth.signing import Cancellable, TerminalsBrowser
from desktop_agent.cli.console import Console
from desktop_agent.cli.interruptible import run_to_end
from desktop_agent.cli.mcp.listing import required_definition
from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.base.paths import AppPaths, real_path
from desktop_agent.core.mcp.definition import ServerDefinition
from desktop_agent.core.providers.auth.server_credentials import ServerKeyring
from desktop_agent.core.providers.auth.server_sign_ins import ServerSignIns
from desktop_agent.core.system.workspace import current_folder


def main(args: argparse.Namespace, console: Console) -> int:
    """Carry out one of the two."""
    paths = AppPaths.from_environment()
    definition = required_definition(paths, real_path(args.workspace or current_folder()), args.name)
    sign_ins = ServerSignIns(ServerKeyring(tell=console.say), paths.data, SystemClock())
    action = _sign_in if args.action == "sign-in" else _sign_out
    work = Cancellable(action(definition, sign_ins, console))
    return asyncio.run(run_to_end(work))  # noqa: TID251 - entry point


async def _sign_in(definition: ServerDefinition, sign_ins: ServerSignIns, console: Console) -> int:
    await sign_ins.sign_in(definition, TerminalsBrowser(console, os.environ))
    text = f"You are signed in with {definition.name}. `desktop-agent mcp test {definition.name}` says what it offers."
    console.result({"name": definition.name, "signed_in": True}, text)
    return 0


async def _sign_out(definition: ServerDefinition, sign_ins: ServerSignIns, console: Console) -> int:
    await sign_ins.sign_out(definition)
    text = f"You are signed out of {definition.name} on this machine."
    console.result({"name": definition.name, "signed_in": False}, text)
    return 0
