"""The commands of `desktop-agent`: one module each, imported only when it is called; `parser.py` has the tree."""

import argparse
import gc
import importlib
from collections.abc import Mapping, Sequence
from typing import Protocol, cast

from desktop_agent.cli.console import Console, OutputError
from desktop_agent.cli.parser import build_parser
from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.base.private_files import close_to_others


class _Command(Protocol):
    """What the module of a command offers."""

    def main(self, args: argparse.Namespace, console: Console) -> int: ...


def run_command(argv: Sequence[str], environ: Mapping[str, str]) -> int:
    """Parse `argv`, carry the command out, and return the exit code.

    `environ` has the keys, which `os.environ` may have no more; commands find it in `args.environ`.
    """
    args = build_parser().parse_args(argv)
    args.environ = environ
    console = Console(is_json=args.json)
    close_to_others(AppPaths.from_environment().roots)
    module = cast("_Command", _imported(f"desktop_agent.cli.{args.command}"))
    try:
        return module.main(args, console)
    except AgentError as error:
        if not (isinstance(error, OutputError) and error.is_closed):
            console.fail(error)
        return error.exit_code
    except KeyboardInterrupt:
        return 130


def _imported(name: str) -> object:
    """Import a module; where the entry point has switched the collector off for that, switch it on again.

    What is imported stays until the end. With the collector on, it would be gone over again and again meanwhile: a
    tenth of the time.
    """
    module = importlib.import_module(name)
    if not gc.isenabled():
        gc.freeze()
        gc.enable()
    return module
