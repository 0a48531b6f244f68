"""The entry point of `desktop-agent`: a command, or the window. Headless commands never import Qt.

What a command needs is imported when it is called: whoever opens the window waits for nothing else.
"""

import sys
from collections.abc import Sequence

COMMANDS = ("run", "sessions", "changes", "storage", "tools", "auth", "config", "doctor")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    # A folder may be named like a command; then it is written ./run.
    if arguments and arguments[0] in (*COMMANDS, "-h", "--help", "--version"):
        from desktop_agent.commands import run_command

        return run_command(arguments)
    from desktop_agent import app

    return app.main(arguments)
