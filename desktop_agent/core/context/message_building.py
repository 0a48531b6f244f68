"""Messages of what the model sees: roles alternate, every call is answered exactly once, and nothing is empty."""

from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace

from desktop_agent.core.base.ids import CallId
from desktop_agent.core.context.external_frame import external_content
from desktop_agent.core.context.history_fold import GuidanceNote, HistoryFold
from desktop_agent.core.context.portable import portable
from desktop_agent.core.context.shortening import shortened
from desktop_agent.core.protocol.model import (
    AssistantBlock,
    AssistantMessage,
    GuidanceFile,
    Message,
    OpaqueBlock,
    TextBlock,
    ThinkingBlock,
    ToolResult,
    ToolResultBlock,
    ToolUseBlock,
    UserBlock,
    UserMessage,
)

UNANSWERED = (
    "This call was interrupted and its result is unknown: it may have run not at all, partly or completely. "
    "Check the current state before relying on it."
)
BEGINNING_LOST = "[The beginning of this conversation was lost.]"
GUIDANCE_NOTE = "[Guidance for"
"""How a note begins that brings an AGENTS.md into the conversation."""


class Conversation(NamedTuple):
    """What to send, and how many messages of it were part of the request before."""

    messages: tuple[Message, ...]
    stable: int


def built(
    fold: HistoryFold,
    first: int,
    last: int,
    short: frozenset[CallId],
    head: Sequence[UserBlock] = (),
    made_at: int = 0,
) -> Conversation:
    """Return the items from `first` to before `last` as messages behind `head`.

    What was asked before item number `made_at` was asked about another conversation, so nothing of it is stable.
    """
    merged: list[Message] = [UserMessage(content=tuple(head))] if head else []
    pending: list[ToolUseBlock] = []
    stable = 0
    for index in range(first, last):
        if index == fold.asked_at and index >= made_at:
            stable = len(merged) + (1 if pending else 0)
        item = fold.items[index]
        if isinstance(item, AssistantMessage):
            if not (blocks := _sendable(item.content)):
                continue
            if pending:
                _add_user(merged, _answers(fold, pending, short))
            _add_assistant(merged, replace(item, content=blocks))
            pending = [block for block in blocks if isinstance(block, ToolUseBlock)]
        else:
            block = TextBlock(text=guidance_note(item.path, item.file)) if isinstance(item, GuidanceNote) else item
            _add_user(merged, [*_answers(fold, pending, short), block])
            pending = []
    if pending:
        _add_user(merged, _answers(fold, pending, short))
    if merged and isinstance(merged[0], AssistantMessage):
        merged.insert(0, UserMessage(content=(TextBlock(text=BEGINNING_LOST),)))
        stable += 1 if stable else 0
    return Conversation(tuple(merged), stable)


def _answers(fold: HistoryFold, calls: Sequence[ToolUseBlock], short: frozenset[CallId]) -> list[UserBlock]:
    answers: list[UserBlock] = []
    for call in calls:
        result = fold.results.get(call.id)
        shown = shortened(result) if result and call.id in short else result
        answers.append(answer(call.id, shown, is_external=call.id in fold.external))
    return answers


def answer(call_id: CallId, result: ToolResult | None, *, is_external: bool) -> ToolResultBlock:
    """Return what the model reads as the result of a call."""
    if result is None:
        return ToolResultBlock(call_id=call_id, content=UNANSWERED, is_error=True)
    content = external_content(call_id, result) if is_external else result.content
    # Pictures stand only in a result that is no error: the API takes nothing but text in an error.
    images = () if result.is_error else result.images
    return ToolResultBlock(call_id=call_id, content=content, is_error=result.is_error, images=images)


def guidance_note(path: str, file: GuidanceFile | None) -> str:
    """Return what the model reads where an AGENTS.md came, or went."""
    folder = path.rpartition("/")[0]
    if file is None:
        return f"{GUIDANCE_NOTE} {folder}/: {path} is gone and holds no longer.]"
    cut = "\n[The file is longer; this is its beginning.]" if file.is_cut else ""
    return f"{GUIDANCE_NOTE} {folder}/, from {path}. It holds for the files in there:]\n{file.text}{cut}"


def _sendable(blocks: Sequence[AssistantBlock]) -> tuple[AssistantBlock, ...]:
    """The blocks a provider takes back: no empty text, no unsigned thinking, nothing only told, not thinking alone."""
    kept = tuple(
        block
        for block in blocks
        if not (isinstance(block, TextBlock) and not block.text.strip())
        and not (isinstance(block, ThinkingBlock) and not block.signature)
        and not (isinstance(block, OpaqueBlock) and not block.payload)
    )
    has_substance = any(isinstance(block, TextBlock | ToolUseBlock | OpaqueBlock) for block in kept)
    return kept if has_substance else ()


def _add_user(messages: list[Message], blocks: Sequence[UserBlock]) -> None:
    if messages and isinstance(messages[-1], UserMessage):
        messages[-1] = UserMessage(content=(*messages[-1].content, *blocks))
    else:
        messages.append(UserMessage(content=tuple(blocks)))


def _add_assistant(messages: list[Message], message: AssistantMessage) -> None:
    """Append a model message; two in a row (a paused answer and its continuation) are one to the provider.

    Where another model went on, the one message is its own, without what only the first would understand.
    """
    last = messages[-1] if messages else None
    if isinstance(last, AssistantMessage):
        before = last.content if last.made_by == message.made_by else portable(last.content)
        messages[-1] = replace(message, content=(*before, *message.content))
    else:
        messages.append(message)
