"""The conversation as the model sees it: a pure fold of the journal into alternating messages.

Whatever the journal holds, the messages are valid for a provider: roles alternate, every tool call is answered exactly
once in the message that follows it, and nothing is empty. A call that never came to a result (a crash, a kill) is
answered with the plain truth.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from desktop_agent.core import events as ev
from desktop_agent.core.ids import CallId
from desktop_agent.core.model import (
    AssistantBlock,
    AssistantMessage,
    FileOutcome,
    Message,
    OpaqueBlock,
    TextBlock,
    ThinkingBlock,
    ToolResult,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)

UNANSWERED = (
    "This call was interrupted and its result is unknown: it may have run not at all, partly or completely. "
    "Check the current state before relying on it."
)
BEGINNING_LOST = "[The beginning of this conversation was lost.]"
STOPPED = "[The person stopped the previous turn.]"

UserBlock = TextBlock | ToolResultBlock


@dataclass(slots=True)
class History:
    """The fold. `apply` every durable event, in order; `messages` is what to send."""

    _items: list[TextBlock | tuple[AssistantBlock, ...]] = field(
        default_factory=list[TextBlock | tuple[AssistantBlock, ...]]
    )
    """Prompts and notes as text blocks, model messages as tuples of blocks."""
    _starts: dict[int, int] = field(default_factory=dict[int, int])
    """Where each turn's prompt stands among them."""
    _results: dict[CallId, ToolResult] = field(default_factory=dict[CallId, ToolResult])
    _answered: int = 0
    """How many of the items were part of the last request that was answered."""

    def apply(self, event: ev.Event) -> None:
        """Fold one event in; events that the model need not know of are ignored."""
        match event:
            case ev.PromptSubmitted(turn=turn, text=text):
                self._starts[turn] = len(self._items)
                self._items.append(TextBlock(text=text))
            case ev.MessageDone(content=content, stop_reason=stop_reason):
                if stop_reason != "interrupted":
                    self._answered = len(self._items)
                # A refused answer is left out: providers keep refusing while it stands in the conversation.
                if stop_reason != "refusal":
                    self._items.append(content)
            case ev.ToolCallFinished(call_id=call_id, result=result):
                self._results.setdefault(call_id, result)
            case ev.ChangesUndone(outcomes=outcomes, reason=reason):
                self._note("undid", outcomes, reason)
            case ev.ChangesRedone(outcomes=outcomes, reason=reason):
                self._note("redid", outcomes, reason)
            case ev.Rewound(turn=turn, scope=scope) if scope != "files":
                del self._items[self._starts.get(turn, len(self._items)) :]
                self._answered = min(self._answered, len(self._items))
            case ev.TurnEnded(reason="interrupted"):
                self._items.append(TextBlock(text=STOPPED))
            case _:
                pass

    def messages(self) -> tuple[Message, ...]:
        """Return the conversation, roles alternating, the first one the user's."""
        return self._merged(self._items)

    @property
    def stable_messages(self) -> int:
        """How many messages the last request had that was answered: providers have those in their cache."""
        return len(self._merged(self._items[: self._answered]))

    def _merged(self, items: Sequence[TextBlock | tuple[AssistantBlock, ...]]) -> tuple[Message, ...]:
        merged: list[Message] = []
        pending: list[ToolUseBlock] = []
        for item in items:
            if isinstance(item, TextBlock):
                _add_user(merged, [*self._answers(pending), item])
                pending = []
            elif blocks := _sendable(item):
                if pending:
                    _add_user(merged, self._answers(pending))
                _add_assistant(merged, blocks)
                pending = [block for block in blocks if isinstance(block, ToolUseBlock)]
        if pending:
            _add_user(merged, self._answers(pending))
        if merged and isinstance(merged[0], AssistantMessage):
            merged.insert(0, UserMessage(content=(TextBlock(text=BEGINNING_LOST),)))
        return tuple(merged)

    def _answers(self, calls: Sequence[ToolUseBlock]) -> list[UserBlock]:
        return [self._answer(call.id) for call in calls]

    def _answer(self, call_id: CallId) -> ToolResultBlock:
        result = self._results.get(call_id)
        if result is None:
            return ToolResultBlock(call_id=call_id, content=UNANSWERED, is_error=True)
        # Pictures stand only in a result that is no error: the API takes nothing but text in an error.
        images = () if result.is_error else result.images
        return ToolResultBlock(call_id=call_id, content=result.content, is_error=result.is_error, images=images)

    def _note(self, verb: str, outcomes: Sequence[FileOutcome], reason: str) -> None:
        """Tell the model that the person took changes back, so that it does not build on what is gone."""
        touched = [outcome for outcome in outcomes if outcome.state in ("restored", "merged")]
        if not touched:
            return
        whole = {outcome.path for outcome in touched if not outcome.hunks}
        parts = {outcome.path for outcome in touched} - whole
        what = [*sorted(whole), *(f"{path} (a part of them)" for path in sorted(parts))]
        why = f" Their reason: {reason}" if reason else ""
        text = f"[The person {verb} your changes to: {', '.join(what)}.{why} Read a file again before editing it.]"
        self._items.append(TextBlock(text=text))


def _sendable(blocks: Sequence[AssistantBlock]) -> tuple[AssistantBlock, ...]:
    """The blocks a provider takes back: no empty text, no unsigned thinking, and not thinking alone."""
    kept = tuple(
        block
        for block in blocks
        if not (isinstance(block, TextBlock) and not block.text.strip())
        and not (isinstance(block, ThinkingBlock) and not block.signature)
    )
    has_substance = any(isinstance(block, TextBlock | ToolUseBlock | OpaqueBlock) for block in kept)
    return kept if has_substance else ()


def _add_user(messages: list[Message], blocks: Sequence[UserBlock]) -> None:
    if messages and isinstance(messages[-1], UserMessage):
        messages[-1] = UserMessage(content=(*messages[-1].content, *blocks))
    else:
        messages.append(UserMessage(content=tuple(blocks)))


def _add_assistant(messages: list[Message], blocks: Sequence[AssistantBlock]) -> None:
    """Append a model message; two in a row (a paused answer and its continuation) are one to the provider."""
    if messages and isinstance(messages[-1], AssistantMessage):
        messages[-1] = AssistantMessage(content=(*messages[-1].content, *blocks))
    else:
        messages.append(AssistantMessage(content=tuple(blocks)))
