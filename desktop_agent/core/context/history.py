"""The conversation as the model sees it: alternating messages, built from the journal, and the request they make.

Every call has exactly one answer in the next message. Other vendors' thinking and searches are left out.
"""

from collections.abc import Sequence
from typing import NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from desktop_agent.core.base.ids import CallId
from desktop_agent.core.context.history_fold import (
    Beginning,
    ElsewhereNote,
    GuidanceNote,
    HistoryFold,
    external_content,
)
from desktop_agent.core.context.packing import guidance_text, pinned_text, with_newest_pictures
from desktop_agent.core.context.summaries import rendered
from desktop_agent.core.context.tokens import block_tokens, message_tokens
from desktop_agent.core.protocol.model import (
    AssistantBlock,
    AssistantMessage,
    GuidanceFile,
    ImageBlock,
    Message,
    ModelRef,
    ModelRequest,
    OpaqueBlock,
    Pin,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolDefinition,
    ToolResult,
    ToolResultBlock,
    ToolUseBlock,
    UserBlock,
    UserMessage,
)

KEPT_CHARS = 400


def shortened(result: ToolResult) -> ToolResult:
    """Return a result shortened, without pictures, which cost more. Equal results give equal short ones."""
    text, missing = result.content, len(result.content) - 2 * KEPT_CHARS
    parts = [f"{missing} characters"] if missing > 0 else []
    if result.images:
        parts.append("its pictures")
    if not parts:
        return result
    note = f"[{' and '.join(parts)} of this result were taken out to make room. Call again if you need them.]"
    content = f"{text[:KEPT_CHARS]}\n{note}\n{text[-KEPT_CHARS:]}" if missing > 0 else f"{text}\n{note}".strip()
    return ToolResult(content=content, is_error=result.is_error, error_type=result.error_type)


def portable(content: Sequence[AssistantBlock]) -> tuple[AssistantBlock, ...]:
    own = (ThinkingBlock, RedactedThinkingBlock, OpaqueBlock)
    return tuple(
        replace(block, citations=()) if isinstance(block, TextBlock) and block.citations else block
        for block in content
        if not isinstance(block, own)
    )


def is_readable_by(message: Message, model: ModelRef) -> bool:
    """Whether `message` is sent unmodified. It is not if a model of another account or address wrote it."""
    if not isinstance(message, AssistantMessage) or message.made_by is None:
        return True
    return replace(message.made_by.bare, model=model.model) == model.bare


UNANSWERED = (
    "This call was interrupted and its result is unknown: it may have run not at all, partly or completely. "
    "Check the current state before relying on it."
)
BEGINNING_LOST = "[The beginning of this conversation was lost.]"
GUIDANCE_NOTE = "[Guidance for"


class Conversation(NamedTuple):
    messages: tuple[Message, ...]
    stable: int


def built(
    fold: HistoryFold, first: int, last: int, short: frozenset[CallId], head: Sequence[UserBlock] = (), made_at: int = 0
) -> Conversation:
    """Return the items from `first` to before `last` as messages, with `head` in front.

    Messages count as stable only if they were in a request since `made_at`, when the summary in `head` was made.
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
            _add_user(merged, [*_answers(fold, pending, short), _as_block(item)])
            pending = []
    if pending:
        _add_user(merged, _answers(fold, pending, short))
    if merged and isinstance(merged[0], AssistantMessage):
        merged.insert(0, UserMessage(content=(TextBlock(text=BEGINNING_LOST),)))
        stable += 1 if stable else 0
    return Conversation(tuple(merged), stable)


def _as_block(item: TextBlock | ImageBlock | GuidanceNote | ElsewhereNote) -> TextBlock | ImageBlock:
    match item:
        case GuidanceNote(path=path, file=file):
            return TextBlock(text=guidance_note(path, file))
        case ElsewhereNote(text=text):
            return TextBlock(text=text)
        case _:
            return item


def _answers(fold: HistoryFold, calls: Sequence[ToolUseBlock], short: frozenset[CallId]) -> list[UserBlock]:
    answers: list[UserBlock] = []
    for call in calls:
        result = fold.results.get(call.id)
        shown = shortened(result) if result and call.id in short else result
        answers.append(answer(call.id, shown, is_external=call.id in fold.external))
    return answers


def answer(call_id: CallId, result: ToolResult | None, *, is_external: bool) -> ToolResultBlock:
    if result is None:
        return ToolResultBlock(call_id=call_id, content=UNANSWERED, is_error=True)
    content = external_content(call_id, result) if is_external else result.content
    # Pictures stand only in a result that is no error: the API takes nothing but text in an error.
    images = () if result.is_error else result.images
    return ToolResultBlock(call_id=call_id, content=content, is_error=result.is_error, images=images)


def guidance_note(path: str, file: GuidanceFile | None) -> str:
    if file is None:
        return f"{GUIDANCE_NOTE} {path.rpartition('/')[0]}/: {path} no longer applies.]"
    cut = "\n[The file is longer; this is its beginning.]" if file.is_cut else ""
    what = file.holds_for or f"{path.rpartition('/')[0]}/"
    which = "the files in there" if what.endswith("/") else "these files"
    return f"{GUIDANCE_NOTE} {what}, from {path}. It applies to {which}:]\n{file.text}{cut}"


def _sendable(blocks: Sequence[AssistantBlock]) -> tuple[AssistantBlock, ...]:
    """Return the blocks that a provider accepts: no empty text or payload, no unsigned or lone thinking."""
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
    """Append a message of a model. If it continues a paused answer of the same model, join the two."""
    last = messages[-1] if messages else None
    if isinstance(last, AssistantMessage):
        before = last.content if last.made_by == message.made_by else portable(last.content)
        messages[-1] = replace(message, content=(*before, *message.content))
    else:
        messages.append(message)


class History(Struct):
    fold: HistoryFold = field(default_factory=HistoryFold)

    @property
    def pins(self) -> tuple[Pin, ...]:
        return tuple(self.fold.pins.values())

    @property
    def turns(self) -> tuple[int, ...]:
        end = self.fold.compactions[-1].end if self.fold.compactions else 0
        return tuple(turn for turn, start in self.fold.starts.items() if start.index >= end)

    @property
    def can_undo_compaction(self) -> bool:
        """Whether the fold still has the content that the latest compaction replaced."""
        return bool(self.fold.compactions) and (self.fold.is_whole or len(self.fold.compactions) > 1)

    def can_rewind_to(self, turn: int) -> bool:
        """Whether the fold has everything before this turn that a rewind would show again."""
        return self.fold.is_whole or self.has_turn(turn)

    def has_turn(self, turn: int) -> bool:
        return turn in self.fold.starts

    def beginning(self, undoable: int = 1) -> Beginning:
        """Return where a new fold must begin to be equal to this one and able to undo `undoable` compactions."""
        if len(self.fold.compactions) <= undoable:
            return Beginning(1, ())
        return self.fold.compactions[-1 - undoable].beginning

    def turn_sizes(self) -> dict[int, float]:
        """Estimate the tokens of each turn that the model sees verbatim, oldest first."""
        shown, short = frozenset(self.turns), self.fold.shortened
        return {
            turn: message_tokens(built(self.fold, first, last, short).messages)
            for turn, (first, last) in self.fold.bounds().items()
            if turn in shown
        }

    def long_results(self, turns: Sequence[int]) -> list[tuple[CallId, float]]:
        """Return the calls whose results could be shortened, oldest first, each with the tokens saved.

        Results of the last message are excluded, because the model has not read them yet.
        """
        saved: list[tuple[CallId, float]] = []
        done = self.fold.shortened
        bounds = self.fold.bounds()
        for turn in turns:
            first, last = bounds.get(turn, (0, 0))
            messages = [item for item in self.fold.items[first:last] if isinstance(item, AssistantMessage)]
            for call_id in (block.id for item in messages for block in item.content if isinstance(block, ToolUseBlock)):
                result = self.fold.results.get(call_id)
                if result is None or call_id in done:
                    continue
                if len(result.content) > 3 * KEPT_CHARS or result.images:
                    whole, short = (answer(call_id, each, is_external=False) for each in (result, shortened(result)))
                    saved.append((call_id, block_tokens(whole) - block_tokens(short)))  # a frame stays in both
        newest = {call.id for call in self.newest_calls()}
        return [(call_id, size) for call_id, size in saved if call_id not in newest]

    def newest_calls(self) -> tuple[ToolUseBlock, ...]:
        newest = next((item for item in reversed(self.fold.items) if isinstance(item, AssistantMessage)), None)
        blocks = newest.content if newest is not None else ()
        return tuple(block for block in blocks if isinstance(block, ToolUseBlock))

    def messages_through(self, turn: int) -> tuple[Message, ...]:
        compaction = self.fold.compaction
        return built(
            self.fold, compaction.end if compaction else 0, self.fold.bounds().get(turn, (0, 0))[1], self.fold.shortened
        ).messages

    def messages(self) -> tuple[Message, ...]:
        return self.conversation().messages

    def conversation(self) -> Conversation:
        compaction = self.fold.compaction
        if compaction is None:
            return built(self.fold, 0, len(self.fold.items), frozenset())
        head: list[UserBlock] = []
        if compaction.through_turn:
            head.append(TextBlock(text=rendered(compaction.summary)))
            head += [TextBlock(text=guidance_note(file.path, file)) for file in compaction.guidance]
        return built(self.fold, compaction.end, len(self.fold.items), compaction.shortened, head, compaction.made_at)


def pack(
    history: History,
    *,
    model: ModelRef,
    system: str,
    tools: tuple[ToolDefinition, ...],
    max_tokens: int,
    conversation: str = "",
) -> ModelRequest:
    """Return the next request, the most stable parts first, so that providers can cache it, and pins last.

    It depends on the journal's fold alone, so that a restart does not change it. The caller adds
    the bytes of its pictures (`image_digests`), off the event loop.
    """
    messages, stable = history.conversation()
    always = [guidance_text(file) for file in history.fold.guidance if file.scope != "folder"]
    return ModelRequest(
        model=model.model,
        effort=model.effort,
        system="\n\n".join([system, *always]),
        messages=with_newest_pictures(messages),
        tools=tools,
        max_tokens=max_tokens,
        stable_messages=stable,
        pinned=pinned_text(history.pins),
        conversation=conversation,
        follows=_last_answer_id(messages, model),
    )


def _last_answer_id(messages: Sequence[Message], model: ModelRef) -> str:
    """Return the id of the last answer if its model had the same account and address; otherwise empty."""
    last = next((message for message in reversed(messages) if isinstance(message, AssistantMessage)), None)
    if last is None or last.made_by is None or not is_readable_by(last, model):
        return ""
    return last.id
