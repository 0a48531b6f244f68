"""The commands of `desktop-agent`: one module each, imported only when it is called; `parser.py` has the tree."""

import argparse
import importlib
from collections.abc import Sequence
from typing import Protocol, cast

from desktop_agent.commands.console import Console, OutputError
from desktop_agent.commands.parser import build_parser
from desktop_agent.core.errors import AgentError


class _Command(Protocol):
    """What the module of a command offers."""

    def main(self, args: argparse.Namespace, console: Console) -> int: ...


def run_command(argv: Sequence[str]) -> int:
    """Parse `argv`, carry the command out, and return the exit code."""
    args = build_parser().parse_args(argv)
    console = Console(is_json=args.json)
    module = cast("_Command", importlib.import_module(f"desktop_agent.commands.{args.command}"))
    try:
        return module.main(args, console)
    except AgentError as error:
        if not (isinstance(error, OutputError) and error.is_closed):
            console.fail(error)
        return error.exit_code
    except KeyboardInterrupt:
        return 130
