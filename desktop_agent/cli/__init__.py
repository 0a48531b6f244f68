"""The entry point of `desktop-agent`: a command, or the window. Headless commands never import Qt."""

import gc
import os
import signal
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from difflib import get_close_matches
from io import TextIOWrapper
from pathlib import Path
from urllib.parse import unquote_to_bytes

from desktop_agent.core.base.file_names import real_path_named
from desktop_agent.core.system.environment import take_environment

COMMANDS = (
    "run", "batch", "sessions", "changes", "worktrees", "costs", "storage", "tools", "auth", "models", "mcp", "agents",
    "skills", "hooks", "plugins", "config", "acp", "serve", "desktop", "doctor",
)  # fmt: skip

WITH_VALUE = ("--resume", "--provider", "--model", "--base-url", "--account")

_ENDING = ("SIGINT", "SIGTERM", "SIGHUP")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code. Without `argv`, keys are removed from the environment."""
    environ: Mapping[str, str] = os.environ
    if argv is None:
        _open_standard_streams()
        gc.disable()  # until the command is imported: the collector would go over all new modules again and again
        environ = take_environment()
    arguments = list(sys.argv[1:] if argv is None else argv)
    # A folder may be named like a command; then it is written ./run.
    if arguments and arguments[0] in (*COMMANDS, "-h", "--help", "--version"):
        return _command(arguments, environ, is_own_process=argv is None)
    arguments = [part for word in arguments for part in _followed(word)]
    word = _plain_word(arguments)
    if word is not None and not real_path_named(word).expanduser().is_dir():
        return _refuse(word)
    from desktop_agent import app

    return app.main(arguments, environ)


def _command(arguments: Sequence[str], environ: Mapping[str, str], *, is_own_process: bool) -> int:
    """Carry out a command. With `is_own_process`, a signal ends it silently, even during the first imports."""
    try:
        with _ending_by_signals() if is_own_process else nullcontext():
            from desktop_agent.cli.dispatch import run_command

            return run_command(arguments, environ)
    except KeyboardInterrupt:
        return 130


@contextmanager
def _ending_by_signals() -> Generator[None]:
    """Let the ending signals raise `KeyboardInterrupt` in the block. Afterwards the signals are ignored."""
    heeded = heeded_signals()
    for number in heeded:
        signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number in heeded:
            signal.signal(number, signal.SIG_IGN)


def heeded_signals() -> list[signal.Signals]:
    """Return the ending signals that are not ignored. `nohup` and shells ignore some for background jobs."""
    known = [getattr(signal, name) for name in _ENDING if hasattr(signal, name)]
    return [number for number in known if signal.getsignal(number) is not signal.SIG_IGN]


def _open_standard_streams() -> None:
    """Open the null device for missing standard streams. The next opened file would otherwise replace them."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest number that is free, which is this one
            name, mode = (("stdin", "r"), ("stdout", "w"), ("stderr", "w"))[descriptor]
            setattr(sys, name, os.fdopen(descriptor, mode, encoding="utf-8", closefd=False))
    if sys.platform == "win32":  # whose pipes and files would otherwise have a legacy encoding
        for stream in (sys.stdin, sys.stdout, sys.stderr):
            if isinstance(stream, TextIOWrapper):
                stream.reconfigure(encoding="utf-8")


def _followed(word: str) -> list[str]:
    """Return the arguments that a link of the desktop stands for, and any other word as it is."""
    scheme, _, rest = word.partition("://")
    match scheme:
        case "file":
            return [os.fsdecode(unquote_to_bytes(rest.removeprefix("localhost")))]
        case "desktop-agent":
            place, _, session = rest.strip("/").partition("/")
            # A web page can contain such a link, so it names a session and can pass no options.
            return ["--resume", session] if place == "session" and session.replace("-", "").isalnum() else [word]
        case _:
            return [word]


def _plain_word(arguments: Sequence[str]) -> str | None:
    before = ""
    for word in arguments:
        if not word.startswith("-") and before not in WITH_VALUE:
            return word
        before = word
    return None


def _refuse(word: str) -> int:
    is_there = Path(word).exists()
    close = "" if is_there else "".join(f" Did you mean `{name}`?" for name in get_close_matches(word, COMMANDS, n=1))
    what = "is a file, not a folder" if is_there else "is neither a command nor a folder"
    sys.stderr.write(f"error: {word!r} {what}.{close}\nCommands: {', '.join(COMMANDS)}. See `desktop-agent --help`.\n")
    return 2
