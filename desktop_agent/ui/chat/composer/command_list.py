"""Which commands fit what is being typed, best first."""

from collections.abc import Sequence

from msgspec import Struct

from desktop_agent.core.slash.declarations import Declaration, is_command


class Offer(Struct, frozen=True):
    """What to show above a message that begins with a slash."""

    commands: tuple[Declaration, ...]
    is_choice: bool
    """Whether one is still to be chosen; otherwise it is, and its arguments are being written."""
    is_whole: bool
    """Whether what stands there is a command already, so that Enter sends it."""


def offer(text: str, commands: Sequence[Declaration]) -> Offer | None:
    """Return what to show for `text`; None when it is no command, or when there is nothing to say about it."""
    if not is_command(text):
        return None
    name, space, _ = text[1:].partition(" ")
    name = name.lower()
    if "\n" in name or "\t" in name:
        return None
    exact = [command for command in commands if command.name == name and not command.problem]
    if space:
        shown = tuple(command for command in exact if command.arguments)
        return Offer(shown[:1], is_choice=False, is_whole=True) if shown else None
    ranked = [(_rank(command, name), index) for index, command in enumerate(commands)]
    shown = tuple(commands[index] for rank, index in sorted(ranked) if rank < _NO_MATCH)
    if not shown or (len(shown) == 1 and exact and not exact[0].arguments):
        return None
    return Offer(shown, is_choice=True, is_whole=bool(exact))


_NO_MATCH = 100


def _rank(command: Declaration, typed: str) -> int:
    """How well a command fits: 0 best. What cannot be used comes last."""
    name = command.name
    if name == typed:
        rank = 0
    elif name.startswith(typed):
        rank = 1
    elif any(part.startswith(typed) for part in name.replace("-", ":").replace("_", ":").split(":")):
        rank = 2
    elif len(typed) > 1 and typed in name:
        rank = 3
    else:
        return _NO_MATCH
    return rank + 10 if command.problem else rank
