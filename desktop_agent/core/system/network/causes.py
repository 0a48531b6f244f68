"""Why a connection failed: what the operating system and the HTTP library raised, found along its causes."""

from collections.abc import Iterator
from typing import cast


def causes_of(error: BaseException) -> Iterator[BaseException]:
    """Yield `error` and what caused it.

    httpcore2 keeps the original as an argument of its own exception. Contexts are left out: a caller that tries again
    while it handles the last failure would find that failure here.
    """
    waiting: list[BaseException] = [error]
    seen: set[int] = set()
    while waiting:
        current = waiting.pop(0)
        if id(current) in seen:
            continue
        seen.add(id(current))
        yield current
        inner: tuple[object, ...] = current.args
        if isinstance(current, BaseExceptionGroup):  # a name with several addresses, all of which failed
            inner = cast("BaseExceptionGroup[BaseException]", current).exceptions
        waiting += [cause for cause in (current.__cause__, *inner) if isinstance(cause, BaseException)]


def names_of(causes: list[BaseException]) -> str:
    """Return the causes by type and error number only: a message may quote a header."""
    names = (
        f"{type(cause).__name__} {cause.errno}" if isinstance(cause, OSError) and cause.errno else type(cause).__name__
        for cause in causes
    )
    return " < ".join(dict.fromkeys(names))
