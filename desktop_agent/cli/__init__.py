"""The entry point of `desktop-agent`: a command, or the window. Headless commands never import Qt.

What a command needs is imported when it is called, so that the window waits for nothing else.
"""

import gc
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

COMMANDS = (
    "run",
    "batch",
    "sessions",
    "changes",
    "costs",
    "storage",
    "tools",
    "auth",
    "models",
    "mcp",
    "config",
    "serve",
    "doctor",
)

WITH_VALUE = ("--resume", "--provider", "--model", "--base-url", "--account")
"""The options of the window behind which a value stands."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Without `argv` this is the process's own entry point: keys leave the environment first
    (`core.system.own_environment`).
    """
    environ: Mapping[str, str] = os.environ
    if argv is None:
        gc.disable()  # until what is asked for is imported: with the collector on, that would be gone over all the time
        from desktop_agent.core.system.own_environment import take_environment

        environ = take_environment()
        _occupy_standard_descriptors()
    arguments = list(sys.argv[1:] if argv is None else argv)
    # A folder may be named like a command; then it is written ./run.
    if arguments and arguments[0] in (*COMMANDS, "-h", "--help", "--version"):
        from desktop_agent.cli.dispatch import run_command

        return run_command(arguments, environ)
    word = _plain_word(arguments)
    if word is not None and not Path(word).expanduser().is_dir():
        return _refuse(word)
    from desktop_agent import app

    return app.main(arguments, environ)


def _occupy_standard_descriptors() -> None:
    """Open nothing in place of standard streams that were closed: else a file of ours gets their numbers."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(descriptor)


def _plain_word(arguments: Sequence[str]) -> str | None:
    """Return the first argument that is neither an option of the window nor the value of one."""
    before = ""
    for word in arguments:
        if not word.startswith("-") and before not in WITH_VALUE:
            return word
        before = word
    return None


def _refuse(word: str) -> int:
    """Say that `word` is neither a command nor a folder, and what comes closest. Return the exit code of bad usage."""
    from difflib import get_close_matches

    is_there = Path(word).exists()
    close = "" if is_there else "".join(f" Did you mean `{name}`?" for name in get_close_matches(word, COMMANDS, n=1))
    what = "is a file, not a folder" if is_there else "is neither a command nor a folder"
    sys.stderr.write(f"error: {word!r} {what}.{close}\nCommands: {', '.join(COMMANDS)}. See `desktop-agent --help`.\n")
    return 2
