"""Whether the conversation shows the specifications' examples as required, and why not."""

from collections.abc import Iterator
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token

from tests.ui.chat.markdown.conformance.examples import Example, commonmark, github
from tests.ui.chat.markdown.conformance.outline import Seen, outline
from tests.ui.chat.markdown.conformance.page import expected

HTML = "HTML is shown as plain text: what a model writes never becomes part of the window."
_SIGN = "The sign after a number is shown as written, `10)` or `10.`; HTML cannot tell them apart."
_BARE = "A web address is a link in any position, as in GitHub's dialect and after any character."

COMMONMARK_DIFFERENCES = {296: _SIGN, 297: _SIGN, 302: _SIGN, 602: _BARE, 608: _BARE, 611: _BARE}
"""By the example's number. Examples with HTML are recognised by an HTML parser."""

GITHUB_DIFFERENCES: dict[int, str] = {}


class Verdict(NamedTuple):
    suite: str
    example: Example
    shown: list[Seen]
    is_same: bool
    reason: str


def verdicts() -> Iterator[Verdict]:
    for suite, examples, reasons in (
        ("CommonMark 0.31.2", commonmark(), COMMONMARK_DIFFERENCES),
        ("GitHub Flavored Markdown 0.29, extensions", github(), GITHUB_DIFFERENCES),
    ):
        for example in examples:
            reason = HTML if _has_html(example.markdown) else reasons.get(example.number, "")
            shown = outline(example.markdown)
            is_same = reason != HTML and shown == expected(example.html)
            yield Verdict(suite, example, shown, is_same, reason)


def _has_html(markdown: str) -> bool:
    return "<" in markdown and _is_html_in(MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(markdown))


def _is_html_in(tokens: list[Token]) -> bool:
    return any(token.type in ("html_block", "html_inline") or _is_html_in(token.children or []) for token in tokens)
