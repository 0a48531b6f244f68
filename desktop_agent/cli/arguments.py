"""What the options of several commands have in common."""

import argparse
from datetime import datetime, timedelta
from math import inf
from pathlib import Path
from typing import Protocol

APPROVALS = ("always", "on_write", "on_request", "never")
SANDBOXES = ("restricted", "strict", "none")


class Commands(Protocol):
    """Where commands or actions are added: what `add_subparsers` returns, for which argparse has no public name."""

    def add_parser(
        self,
        name: str,
        *,
        help: str | None = ...,  # noqa: A002 - the name that argparse gave it
        description: str | None = ...,
        epilog: str | None = ...,
    ) -> argparse.ArgumentParser:
        """Add one, and return the parser of what stands behind its name."""
        ...


def command(commands: Commands, name: str, summary: str, example: str) -> argparse.ArgumentParser:
    """Add a command, or an action of one, with what all of them take."""
    parser = commands.add_parser(name, help=summary, description=summary, epilog=f"Example: desktop-agent {example}")
    parser.add_argument("--json", action="store_true", help="one JSON document on standard output")
    folder = "the folder to work in (default: the current one)"
    parser.add_argument("--workspace", type=Path, metavar="DIR", help=folder)
    return parser


def session_command(commands: Commands, name: str, summary: str, example: str) -> argparse.ArgumentParser:
    """Add a command that is about one session."""
    parser = command(commands, name, summary, example)
    parser.add_argument("id", metavar="ID", help="a session id, or its beginning or end")
    return parser


def add_switch(parser: argparse.ArgumentParser, name: str, summary: str) -> None:
    """Add an option that can be switched on and off; without it the settings decide."""
    parser.add_argument(name, action=argparse.BooleanOptionalAction, default=None, help=summary)


def add_mode(parser: argparse.ArgumentParser) -> None:
    """Add what a session may do without asking, and what confines it."""
    parser.add_argument("--approval", choices=APPROVALS, metavar="P", help=f"approval policy: {', '.join(APPROVALS)}")
    parser.add_argument("--sandbox", choices=SANDBOXES, metavar="S", help=f"for commands: {', '.join(SANDBOXES)}")


def add_accept_folder(parser: argparse.ArgumentParser) -> None:
    """Add the option by which the user accepts the folder that is now at the session's path."""
    summary = "go on in the folder that is there now, although it is not the one that the session worked in"
    parser.add_argument("--accept-folder", action="store_true", help=summary)


def names(text: str) -> tuple[str, ...]:
    """Return the names between commas."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def at_least_one(text: str) -> int:
    """Return the whole number, 1 or more, that `text` is."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number, 1 or more")
    return number


def not_below_zero(text: str) -> int:
    """Return the whole number, 0 or more, that `text` is."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number, 0 or more")
    return int(text)


def above_zero(text: str) -> float:
    """Return the finite number above 0 that `text` is."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number greater than 0")
    return number


def moment(text: str) -> datetime:
    """Return the moment that `2026-11-21`, `2026-11-21T09:30` or `7d` (days ago) means here."""
    if (days := text.removesuffix("d")).isdigit() and days != text and len(days) < 6:
        return datetime.now().astimezone() - timedelta(days=int(days))
    try:
        return datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError, OSError) as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no date such as 2026-11-21, nor a number of days: 7d") from error


def end_of(text: str) -> datetime:
    """Return the end of what `text` means: of the day, when it names one."""
    meant = moment(text)
    return meant + timedelta(days=1) if len(text) == len("2026-11-21") and "d" not in text else meant
