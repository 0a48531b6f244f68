"""A message's blocks as a reader sees them."""

from typing import NamedTuple

from desktop_agent.ui.chat.markdown.blocks import Block
from desktop_agent.ui.chat.markdown.markdown_stream import MarkdownStream
from desktop_agent.ui.chat.markdown.parser import LINE_BREAK, References, RichText, rich_text, utf16_slice


class Run(NamedTuple):
    """A piece of text in one style, a sum of `BOLD`, `ITALIC` …"""

    text: str
    style: int = 0
    href: str = ""


Line = tuple[Run, ...]


class Seen(NamedTuple):
    kind: str
    containers: str = ""
    """`l` for each list and `q` for each quote around it, outermost first."""
    marker: str = ""
    level: int = 0
    language: str = ""
    lines: tuple[Line, ...] = ()
    """The text, or a table's cells."""
    alignments: tuple[str, ...] = ()
    columns: int = 0


def outline(markdown: str) -> list[Seen]:
    stream = MarkdownStream()
    stream.feed(markdown)
    stream.close()
    return [_seen(block, stream.references) for block in stream.blocks]


def _seen(block: Block, references: References) -> Seen:
    assert block.joint is None, "no example is so long that it is cut"
    match block.kind:
        case "code" | "plain":
            lines = ((Run(block.content),),)
        case "table":
            lines = tuple(runs(rich_text(cell, references)) for row in block.rows for cell in row)
        case _:
            lines = (runs(rich_text(block.content, references)),)
    return Seen(
        block.kind,
        block.containers,
        block.marker,
        block.level,
        block.language,
        lines if block.kind != "rule" else (),
        block.alignments,
        len(block.rows[0]) if block.rows else 0,
    )


def runs(rich: RichText) -> Line:
    found: list[Run] = []
    at = 0
    for span in rich.spans:
        found.append(Run(utf16_slice(rich.text, at, span.start)))
        at = span.start + span.length
        found.append(Run(utf16_slice(rich.text, span.start, at), span.style, span.href))
    found.append(Run(utf16_slice(rich.text, at, len(rich.text.encode("utf-16-le")) // 2)))
    return joined(found)


def joined(found: list[Run]) -> Line:
    whole: list[Run] = []
    for run in found:
        text = run.text.replace(LINE_BREAK, "\n")
        if whole and whole[-1][1:] == run[1:]:
            whole[-1] = whole[-1]._replace(text=whole[-1].text + text)
        elif text:
            whole.append(run._replace(text=text))
    return tuple(whole)
