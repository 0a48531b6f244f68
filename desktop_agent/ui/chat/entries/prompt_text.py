"""What a prompt shows of its text: review comments are cards, and mentions of pasted pictures are left out."""

import re
from collections.abc import Collection, Iterator
from functools import partial
from typing import NamedTuple

from PySide6.QtCore import QCoreApplication

from desktop_agent.core.base.plain_text import named
from desktop_agent.core.context.review_comments import THE_PLAN, SentComment, comments_in
from desktop_agent.core.protocol.events import PromptSubmitted, Steered
from desktop_agent.core.protocol.model import Attachment
from desktop_agent.ui.chat.cards.change import language_of
from desktop_agent.ui.chat.markdown.blocks import Block, code_parts

_tr = partial(QCoreApplication.translate, "SentComments")

_PASTED = "@pasted:"
MOST_SHOWN = 20


class PromptText(NamedTuple):
    blocks: list[Block]
    cards: tuple[range, ...] = ()
    """The blocks of each comment: first its lines of code, then what the user wrote about them."""


def read_prompt(prompt: PromptSubmitted | Steered) -> PromptText:
    text = prompt.text
    hidden = [each.mention for each in prompt.attachments[:MOST_SHOWN] if is_pasted_picture(each)]
    blocks: list[Block] = []
    cards: list[range] = []
    at = 0
    for comment in comments_in(text):
        blocks += _prose(text[at : comment.start].rstrip("\n"), at, hidden)
        first = len(blocks)
        blocks.append(_code(comment))
        blocks += _prose(comment.text, comment.text_start, hidden)
        cards.append(range(first, len(blocks)))
        at = comment.end
    blocks += _prose(text[at:], at, hidden)
    return PromptText(blocks, tuple(cards))


def is_pasted_picture(attachment: Attachment) -> bool:
    return attachment.kind == "picture" and attachment.mention.startswith(_PASTED)


def _prose(text: str, start: int, hidden: Collection[str]) -> Iterator[Block]:
    """Yield a text without the hidden mentions. Its last block ends where the text does in the source."""
    shown = text
    if hidden:
        mentions = "|".join(re.escape(mention) for mention in sorted(hidden, key=len, reverse=True))
        shown = re.sub(rf"^(?:{mentions})\s*|[ \t]*(?:{mentions})", "", text).strip()
    if not shown:
        return
    for part in code_parts(shown):
        at = start + (part.start if shown == text else 0)
        end = at + len(part.text) if shown == text else start + len(text)
        yield Block("plain", part.text, at, end, part.joint)


def _code(comment: SentComment) -> Block:
    place = _tr("Plan") if comment.path == THE_PLAN else named(comment.path)
    if not comment.last:
        words = _tr("{0} · whole file").format(place)
    elif comment.last > comment.first:
        words = _tr("{0} · lines {1}–{2}").format(place, comment.first, comment.last)
    else:
        words = _tr("{0} · line {1}").format(place, comment.first)
    if comment.is_before:
        words = _tr("{0}, before the change").format(words)
    return Block(
        "code", comment.quote, comment.start, comment.text_start, language=language_of(comment.path), label=words
    )
