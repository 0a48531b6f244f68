"""Web addresses that stand in a text by themselves, found as GitHub's dialect of markdown finds them.

More is found than there: an address with `http` may stand behind any character, because models write them in quotes and
brackets. Less is taken for a part of it: quotation marks end an address.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

_BEGUN = re.compile(r"(?:https?://|(?<![^\s*_~(])www\.(?=\w))[^\s<>\"'`\u2028]*")
_ENTITY = re.compile(r"&[0-9A-Za-z]+;\Z")
_PUNCTUATION = frozenset("?!.,:*_~;]}")
"""What belongs to the sentence when it is the end."""


class WebAddress(NamedTuple):
    """Where an address stands in a text, and where it leads."""

    start: int
    end: int
    href: str


def may_have_address(text: str) -> bool:
    """Whether it is worth looking for one."""
    return "://" in text or "www." in text


def web_addresses(text: str) -> Iterator[WebAddress]:
    """Yield the addresses in `text`, in its order."""
    for found in _BEGUN.finditer(text):
        written = _without_sentence(found[0])
        if written.endswith(("://", "www.")) or written in ("http", "https", "www"):
            continue
        href = f"http://{written}" if written.startswith("www.") else written
        yield WebAddress(found.start(), found.start() + len(written), href)


def _without_sentence(written: str) -> str:
    """Return an address without what belongs to the sentence around it."""
    end = len(written)
    surplus = written.count(")") - written.count("(")
    while end:
        last = written[end - 1]
        if last == ";" and (entity := _ENTITY.search(written, 0, end)):
            end = entity.start()
        elif last in _PUNCTUATION or (last == ")" and surplus > 0):
            surplus -= last == ")"
            end -= 1
        else:
            break
    return written[:end]
