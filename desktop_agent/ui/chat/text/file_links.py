"""Paths in what is said and printed, which lead to files of the open folder. Only files that are there are linked."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from desktop_agent.ui.chat.markdown.inline import InlineSpan, RichText
from desktop_agent.ui.chat.markdown.marks import CODE, LINK
from desktop_agent.ui.chat.text.known_files import KnownFiles
from desktop_agent.ui.wording.visible_text import utf16_length

_PATH = re.compile(
    r"(?<![\w/\\@:.-])"  # not within a word, an address or another path
    r"(?P<path>/?[\w.@+-]+(?:/[\w.@+\[\]-]+)*)"
    r"(?:(?:\", line |:|#L|\()(?P<line>\d{1,7}))?"
)
_SCHEME = "file:"


class FileLink(NamedTuple):
    """Where a path stands in a text, as UTF-16 units, and where it leads."""

    start: int
    length: int
    href: str


def file_links(text: str, known: KnownFiles) -> Iterator[FileLink]:
    """Yield the places in `text` that lead to files, in its order: a path, with the line behind it if there is one."""
    if not known or ("." not in text and "/" not in text):
        return
    is_ascii = text.isascii()
    for found in _PATH.finditer(text):
        path, line = found["path"], found["line"]
        end = found.end()
        if line is None and path.endswith("."):
            path = path.rstrip(".")
            end = found.start() + len(path)
        if file := known.find(path):
            start = found.start() if is_ascii else utf16_length(text[: found.start()])
            yield FileLink(start, utf16_length(text[found.start() : end]), f"{_SCHEME}{file}:{line or 0}")


def file_of(href: str) -> tuple[str, int] | None:
    """Return the path and the line (0: none) of the place that a link leads to; None when that is no file."""
    if not href.startswith(_SCHEME):
        return None
    path, _, line = href.removeprefix(_SCHEME).rpartition(":")
    return path, int(line)


def with_file_links(rich: RichText, known: KnownFiles) -> RichText:
    """Return a text in which paths lead to files. Of inline code, only what is a path and nothing else does."""
    links = list(file_links(rich.text, known))
    if not links:
        return rich
    spans: list[InlineSpan] = []
    at = 0
    for span in (*rich.spans, InlineSpan(utf16_length(rich.text), 0, 0)):
        spans += _linked(at, span.start, 0, links)
        end = span.start + span.length
        if span.href:
            spans.append(span)
        elif span.style & CODE:
            whole = [link for link in links if (link.start, link.length) == (span.start, span.length)]
            spans.append(span._replace(style=span.style | LINK, href=whole[0].href) if whole else span)
        elif span.length:
            spans += _linked(span.start, end, span.style, links)
        at = end
    return RichText(rich.text, tuple(spans))


def _linked(start: int, end: int, style: int, links: list[FileLink]) -> Iterator[InlineSpan]:
    """Yield the part of a text between these places, which has one style, cut up by the links in it."""
    for link in links:
        if start <= link.start and link.start + link.length <= end:
            if style and link.start > start:
                yield InlineSpan(start, link.start - start, style)
            yield InlineSpan(link.start, link.length, style | LINK, link.href)
            start = link.start + link.length
    if style and end > start:
        yield InlineSpan(start, end - start, style)
