"""The commands of `desktop-agent`: modules that are imported only when they are called; `parser.py` has the order."""

import argparse
import gc
import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import cast

from desktop_agent.cli.console import Console, OutputError
from desktop_agent.cli.parser import build_parser
from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.system.private_files import close_to_others

_FUNCTIONS = {
    ("sessions", "list"): "sessions.list_sessions",
    ("sessions", "show"): "sessions.show_session",
    ("sessions", "verify"): "sessions.verify_stored",
    ("sessions", "search"): "session_actions.search",
    ("sessions", "export"): "session_actions.export_session",
    ("sessions", "import"): "session_actions.import_session",
    ("sessions", "fork"): "session_actions.file_session",
    ("sessions", "rename"): "session_actions.file_session",
    ("sessions", "archive"): "session_actions.file_session",
    ("sessions", "pin"): "session_actions.file_session",
    ("sessions", "delete"): "session_actions.file_session",
    ("changes", "undo"): "changes_undo.main",
    ("changes", "redo"): "changes_undo.main",
    ("batch", ""): "batch.command.main",
    ("tools", "call"): "tools.call_tool",
    ("auth", "sign-in"): "signing.with_provider",
    ("auth", "sign-out"): "signing.with_provider",
    ("mcp", "test"): "mcp_testing.main",
    ("mcp", "sign-in"): "signing.with_server",
    ("mcp", "sign-out"): "signing.with_server",
    ("mcp", "add"): "mcp.change",
    ("mcp", "remove"): "mcp.change",
    ("mcp", "import"): "mcp.change",
    ("mcp", "enable"): "mcp.change",
    ("mcp", "disable"): "mcp.change",
}
"""The function that carries out an action, where it is not `main` of the module with the command's name."""

_Main = Callable[[argparse.Namespace, Console], int]


def run_command(argv: Sequence[str], environ: Mapping[str, str]) -> int:
    """Parse `argv`, carry the command out, and return the exit code.

    `environ` still has the API keys, which may be gone from `os.environ`; commands find it in `args.environ`.
    """
    words, args_behind = _split(argv)
    args = build_parser(words[0]).parse_args(words)
    args.environ, args.command_line = environ, args_behind
    console = Console(is_json=args.json)
    close_to_others(AppPaths.from_environment().roots)
    action: str = getattr(args, "action", "")
    main = _imported(_FUNCTIONS.get((args.command, action), f"{args.command}.main"))
    try:
        return main(args, console)
    except AgentError as error:
        if not (isinstance(error, OutputError) and error.is_closed):
            console.fail(error)
        return error.exit_code
    except KeyboardInterrupt:
        return 130


def _split(argv: Sequence[str]) -> tuple[Sequence[str], list[str]]:
    """Return our own arguments, and the command line of another program, which follows the `--` of `mcp add`.

    `argparse` takes no options between a positional argument and a `--`.
    """
    if list(argv[:2]) != ["mcp", "add"] or "--" not in argv:
        return argv, []
    place = list(argv).index("--")
    return argv[:place], list(argv[place + 1 :])


def _imported(place: str) -> _Main:
    """Import the function of a command, and switch the garbage collector on if the entry point switched it off.

    Imported modules are frozen, as they stay until the end.
    """
    module, _, function = place.rpartition(".")
    imported = importlib.import_module(f"desktop_agent.cli.{module}")
    if not gc.isenabled():
        gc.freeze()
        gc.enable()
    return cast("_Main", getattr(imported, function))
