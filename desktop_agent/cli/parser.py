"""The parser of the command line. The options of each command stand beside it; only those that are needed are read."""

import argparse
import importlib
from typing import Protocol, cast

from desktop_agent.cli.arguments import Commands, command
from desktop_agent.core.base.package import __version__

_WINDOW = """\
without a command, the window opens:
  desktop-agent [WORKSPACE] [--resume [ID] | --continue | --demo]
                [--provider P] [--model M] [--base-url URL] [--account NAME]

Example: desktop-agent ~/code/app --continue"""

_ARGUMENTS = {
    "run": "run.arguments",
    "batch": "batch.arguments",
    "sessions": "sessions.arguments",
    "changes": "changes.arguments",
    "costs": "costs_arguments",
    "storage": "storage_arguments",
    "tools": "tools.arguments",
    "auth": "auth.arguments",
    "models": "models_arguments",
    "mcp": "mcp.arguments",
    "config": "config_arguments",
    "serve": "serve_arguments",
}
"""The module that has the options of each command, in the order of the help."""


class _Arguments(Protocol):
    """What such a module offers."""

    def add_arguments(self, commands: Commands) -> None: ...


def build_parser(only: str = "") -> argparse.ArgumentParser:
    """Return the parser of all commands; with the name of one, the parser that knows `only` this, which is quicker."""
    parser = argparse.ArgumentParser(
        prog="desktop-agent",
        description="A coding assistant whose every change can be seen and undone.",
        epilog=_WINDOW,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"desktop-agent {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name in [only] if only in _ARGUMENTS else _ARGUMENTS:
        module = cast("_Arguments", importlib.import_module(f"desktop_agent.cli.{_ARGUMENTS[name]}"))
        module.add_arguments(commands)
    if only not in _ARGUMENTS:
        command(commands, "doctor", "Check that everything needed works here, and say what to do if not.", "doctor")
    return parser
