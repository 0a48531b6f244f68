"""The conversation as the model sees it: a pure fold of the journal into alternating messages.

Whatever the journal holds, the messages are valid for a provider: roles alternate, every tool call is answered exactly
once in the message that follows it, and nothing is empty. A call that never came to a result (a crash, a kill) is
answered with the plain truth.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import NamedTuple

from desktop_agent.core import events as ev
from desktop_agent.core.ids import CallId
from desktop_agent.core.model import (
    AssistantBlock,
    AssistantMessage,
    FileOutcome,
    Message,
    OpaqueBlock,
    Summary,
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
class _Cut:
    compaction_id: str
    seq: int
    through_turn: int
    start: int
    """Where what is not summarised begins."""
    summary: Summary


class Beginning(NamedTuple):
    """From where on a journal must be folded: `events` first, then everything from number `seq` on."""

    seq: int
    events: tuple[ev.KnownEvent, ...]


@dataclass(slots=True)
class History:
    """The fold. `apply` every durable event, in order; `messages` is what to send.

    A fold need not begin with the first line of its journal: one that began as `beginning(undoable)` said then gives
    the same messages, as long as nothing goes back beyond it. That are the undoing of more than `undoable` compactions,
    and a rewind to a turn that is not there (`has_turn`). Before either, the whole journal must be folded.
    """

    _items: list[TextBlock | tuple[AssistantBlock, ...]] = field(
        default_factory=list[TextBlock | tuple[AssistantBlock, ...]]
    )
    """Prompts and notes as text blocks, model messages as tuples of blocks."""
    _starts: dict[int, int] = field(default_factory=dict[int, int])
    """Where each turn's prompt stands among them."""
    _numbers: dict[int, int] = field(default_factory=dict[int, int])
    """The numbers of the records of those prompts."""
    _results: dict[CallId, ToolResult] = field(default_factory=dict[CallId, ToolResult])
    _cuts: list[_Cut] = field(default_factory=list[_Cut])
    """The compactions that hold, the oldest first. The last one is what counts."""

    def apply(self, event: ev.Event) -> None:  # noqa: C901 - one closed vocabulary
        """Fold one event in; events that the model need not know of are ignored."""
        match event:
            case ev.PromptSubmitted(turn=turn, text=text, seq=seq):
                self._starts[turn], self._numbers[turn] = len(self._items), seq
                self._items.append(TextBlock(text=text))
            case ev.MessageDone(content=content, stop_reason=stop_reason) if stop_reason != "refusal":
                # A refused answer is left out: providers keep refusing while it stands in the conversation.
                self._items.append(content)
            case ev.ToolCallFinished(call_id=call_id, result=result):
                self._results.setdefault(call_id, result)
            case ev.ChangesUndone(outcomes=outcomes, reason=reason):
                self._note("undid", outcomes, reason)
            case ev.ChangesRedone(outcomes=outcomes, reason=reason):
                self._note("redid", outcomes, reason)
            case ev.Rewound(turn=turn, scope=scope) if scope != "files":
                del self._items[self._start_of(turn) :]
                for number in [number for number in self._starts if number >= turn]:
                    del self._starts[number], self._numbers[number]
                self._cuts = [cut for cut in self._cuts if cut.through_turn < turn]
            case ev.Compacted(compaction_id=name, through_turn=turn, summary=summary, seq=seq):
                self._cuts.append(_Cut(name, seq, turn, self._start_of(turn + 1), summary))
            case ev.SummaryEdited(compaction_id=compaction_id, summary=summary):
                known = (cut for cut in self._cuts if cut.compaction_id == compaction_id)
                for cut in known:
                    cut.summary = summary
            case ev.CompactionUndone(compaction_id=compaction_id):
                self._cuts = [cut for cut in self._cuts if cut.compaction_id != compaction_id]
            case ev.TurnEnded(reason="interrupted"):
                self._items.append(TextBlock(text=STOPPED))
            case _:
                pass

    def has_turn(self, turn: int) -> bool:
        """Whether the fold has this turn, shown or summarised, so that it can go back to before it."""
        return turn in self._starts

    def beginning(self, undoable: int = 1) -> Beginning:
        """Return from where a fold must begin to come to this one, and be able to undo `undoable` compactions."""
        if len(self._cuts) <= undoable:
            return Beginning(1, ())
        cuts = self._cuts[-1 - undoable :]
        through = min(cut.through_turn for cut in cuts)
        kept = (number for turn, number in self._numbers.items() if turn > through)
        return Beginning(min((cuts[0].seq, *kept)), ())

    def messages(self) -> tuple[Message, ...]:
        """Return the conversation, roles alternating, the first one the user's."""
        merged: list[Message] = []
        pending: list[ToolUseBlock] = []
        for item in self._seen():
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

    def _seen(self) -> list[TextBlock | tuple[AssistantBlock, ...]]:
        """What is not summarised, with the summary of the rest before it."""
        if not self._cuts:
            return self._items
        cut = self._cuts[-1]
        return [TextBlock(text=_summary_text(cut.summary)), *self._items[cut.start :]]

    def _start_of(self, turn: int) -> int:
        """Where the first prompt from this turn on stands; behind everything when there is none."""
        return min((at for number, at in self._starts.items() if number >= turn), default=len(self._items))

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


def _summary_text(summary: Summary) -> str:
    """Return a summary as the model reads it."""
    parts = [
        f"{name.capitalize()}:\n" + "\n".join(f"- {line}" for line in lines)
        for name, lines in asdict(summary).items()
        if lines
    ]
    return "\n\n".join(["[A summary of the conversation before this:]", *parts])


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
