"""`desktop-agent serve`: serves sessions over HTTP until a signal ends it."""

import argparse
import asyncio

from desktop_agent.cli.config import SettingsWarnings
from desktop_agent.cli.console import Console
from desktop_agent.cli.signals import run_to_end
from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.base.secrets import mask_warnings
from desktop_agent.core.providers.auth.keys import SystemKeyStore
from desktop_agent.core.settings.live_settings import LiveSettings
from desktop_agent.core.system.workspace import current_folder, usable_workspace
from desktop_agent.rest.server import RestServer, ServeOptions


def main(args: argparse.Namespace, console: Console) -> None:
    paths = AppPaths.from_environment(args.environ)
    mask_warnings(args.environ)
    live = LiveSettings.load(paths.settings_file(args.environ), args.environ)
    SettingsWarnings(live, console)()
    certificate, key = args.tls or (None, None)
    options = ServeOptions(
        host=args.host,
        port=args.port,
        certificate=certificate,
        key=key,
        folder=usable_workspace(args.workspace or current_folder()),
    )
    bench = Workbench(paths, live, environ=args.environ, key_store=SystemKeyStore(tell=console.say))
    asyncio.run(_serve(bench, options, console))  # noqa: TID251 - entry point


async def _serve(bench: Workbench, options: ServeOptions, console: Console) -> None:
    server = RestServer(bench, options)
    server.listen()
    if console.is_json:
        console.line({"url": server.url, "token": server.token, "openapi": server.openapi_url})
    else:
        lines = (
            f"Serving at {server.url} until Ctrl+C.",
            f"Token: {server.token}",
            f"For a browser: {server.url}/#token={server.token}",
        )
        console.result({}, "\n".join(lines))
    await run_to_end(server)
