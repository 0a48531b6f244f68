"""`desktop-agent acp`: serves sessions to an editor until it closes standard input."""

import argparse
import asyncio
import os
import sys

from desktop_agent.acp.agent import AcpAgent, Output
from desktop_agent.cli.auth import store_key
from desktop_agent.cli.config import SettingsWarnings
from desktop_agent.cli.console import Console
from desktop_agent.cli.parser import build_parser
from desktop_agent.cli.run import model_of
from desktop_agent.composition.session_context import SessionOptions
from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.base.secrets import mask_warnings
from desktop_agent.core.providers.auth.keys import SystemKeyStore
from desktop_agent.core.settings.live_settings import LiveSettings
from desktop_agent.core.tools.access import CallRules


def main(args: argparse.Namespace, console: Console) -> None:
    if args.sign_in:
        _sign_in(args, console)
        return
    paths = AppPaths.from_environment(args.environ)
    mask_warnings(args.environ)
    live = LiveSettings.load(paths.settings_file(args.environ), args.environ)
    SettingsWarnings(live, console)()
    bench = Workbench(paths, live, environ=args.environ, key_store=SystemKeyStore(tell=console.say))
    options = SessionOptions(
        named=model_of(args),
        approval=args.approval,
        sandbox=args.sandbox,
        rules=CallRules(role=args.role) if args.role else None,
    )
    # Only the protocol is on standard output: what anything else prints goes to standard error.
    output = Output(os.fdopen(os.dup(sys.stdout.fileno()), "wb"))
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    asyncio.run(AcpAgent(bench, options, output).run(sys.stdin.fileno()))  # noqa: TID251 - entry point


def _sign_in(args: argparse.Namespace, console: Console) -> None:
    provider = input("Provider (anthropic, openai, openrouter …): ").strip()
    named = build_parser("auth").parse_args(["auth", "set", provider])
    named.environ = args.environ
    store_key(named, console)
