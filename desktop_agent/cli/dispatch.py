"""The commands of `desktop-agent`: modules that are imported only when they are called; `parser.py` has the order."""

import argparse
import gc
import importlib
from collections.abc import Mapping, Sequence
from typing import Protocol, cast

from desktop_agent.cli.console import Console, OutputError
from desktop_agent.cli.parser import build_parser
from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.system.private_files import close_to_others

_MODULES = {
    ("sessions", "list"): "sessions.listing",
    ("sessions", "show"): "sessions.showing",
    ("sessions", "search"): "sessions.search",
    ("sessions", "verify"): "sessions.verifying",
    ("sessions", "export"): "sessions.exchange",
    ("sessions", "import"): "sessions.exchange",
    ("sessions", "fork"): "sessions.filing",
    ("sessions", "rename"): "sessions.filing",
    ("sessions", "archive"): "sessions.filing",
    ("sessions", "pin"): "sessions.filing",
    ("sessions", "delete"): "sessions.filing",
    ("changes", "list"): "changes.listing",
    ("changes", "diff"): "changes.listing",
    ("changes", "undo"): "changes.undo_redo",
    ("changes", "redo"): "changes.undo_redo",
    ("run", ""): "run.command",
    ("batch", ""): "batch.command",
    ("doctor", ""): "doctor.command",
    ("tools", "list"): "tools.listing",
    ("tools", "describe"): "tools.listing",
    ("tools", "call"): "tools.calling",
    ("auth", "status"): "auth.keys",
    ("auth", "set"): "auth.keys",
    ("auth", "delete"): "auth.keys",
    ("auth", "sign-in"): "auth.signing",
    ("auth", "sign-out"): "auth.signing",
    ("mcp", "list"): "mcp.listing",
    ("mcp", "catalogue"): "mcp.listing",
    ("mcp", "logs"): "mcp.listing",
    ("mcp", "test"): "mcp.testing",
    ("mcp", "sign-in"): "mcp.signing",
    ("mcp", "sign-out"): "mcp.signing",
    ("mcp", "add"): "mcp.changing",
    ("mcp", "remove"): "mcp.changing",
    ("mcp", "import"): "mcp.changing",
    ("mcp", "enable"): "mcp.changing",
    ("mcp", "disable"): "mcp.changing",
}
"""The modules of actions, where it is not the command's own."""


class _Command(Protocol):
    """What the module of a command offers."""

    def main(self, args: argparse.Namespace, console: Console) -> int: ...


def run_command(argv: Sequence[str], environ: Mapping[str, str]) -> int:
    """Parse `argv`, carry the command out, and return the exit code.

    `environ` has the keys, which `os.environ` may have no more; commands find it in `args.environ`.
    """
    words, args_behind = _split(argv)
    args = build_parser(words[0]).parse_args(words)
    args.environ, args.command_line = environ, args_behind
    console = Console(is_json=args.json)
    close_to_others(AppPaths.from_environment().roots)
    module = cast("_Command", _imported(f"desktop_agent.cli.{_module_of(args)}"))
    try:
        return module.main(args, console)
    except AgentError as error:
        if not (isinstance(error, OutputError) and error.is_closed):
            console.fail(error)
        return error.exit_code
    except KeyboardInterrupt:
        return 130


def _split(argv: Sequence[str]) -> tuple[Sequence[str], list[str]]:
    """Return our own words, and the command line of another program, which stands behind the `--` of `mcp add`.

    `argparse` takes no options between a positional argument and a `--`.
    """
    if list(argv[:2]) != ["mcp", "add"] or "--" not in argv:
        return argv, []
    place = list(argv).index("--")
    return argv[:place], list(argv[place + 1 :])


def _module_of(args: argparse.Namespace) -> str:
    command: str = args.command
    return _MODULES.get((command, getattr(args, "action", "")), command)


def _imported(name: str) -> object:
    """Import a module; where the entry point has switched the collector off for that, switch it on again.

    What is imported stays until the end.
    """
    module = importlib.import_module(name)
    if not gc.isenabled():
        gc.freeze()
        gc.enable()
    return module
