"""The conversation as the model sees it: a pure fold of the journal into alternating messages.

Whatever the journal holds, the messages are valid for a provider: roles alternate, every tool call is answered exactly
once in the message that follows it, and nothing is empty. A call that never came to a result (a crash, a kill) is
answered with the plain truth.

A compaction takes nothing out of the fold: it says from where on it is shown, behind which summary. Undoing it, or
going back to before a turn that it summarised, shows again what stood there.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from desktop_agent.core.base.ids import CallId
from desktop_agent.core.context.shortening import is_worth_it, shortened
from desktop_agent.core.context.summaries import rendered
from desktop_agent.core.context.tokens import block_tokens, message_tokens
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import (
    AssistantBlock,
    AssistantMessage,
    FileOutcome,
    GuidanceFile,
    Message,
    OpaqueBlock,
    Pin,
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
STOPPED = "[The user stopped the previous turn.]"
NO_ROOM = "[Your answer ended here because the context window was full. Go on from there.]"
GUIDANCE_NOTE = "[Guidance for"
"""How a note begins that brings an AGENTS.md into the conversation."""

UserBlock = TextBlock | ToolResultBlock


class _GuidanceNote(Struct, frozen=True):
    """An AGENTS.md of a folder came into the conversation here, or went."""

    path: str
    file: GuidanceFile | None


class Beginning(NamedTuple):
    """From where on a journal must be folded: `events` first, then everything from number `seq` on."""

    seq: int
    events: tuple[ev.KnownEvent, ...]


class Compaction(Struct, frozen=True):
    """A compaction in force: everything before the item at `end` is shown as its summary."""

    id: str
    through_turn: int
    summary: Summary
    end: int
    made_at: int
    """How many items there were when it was made, or its summary edited."""
    beginning: Beginning
    """The first turn that it kept, or its own record: what comes before is not shown while it is in force."""
    guidance: tuple[GuidanceFile, ...]
    """Of the folders that came into sight before `end`: they stay in it."""
    shortened: frozenset[CallId]


class Conversation(NamedTuple):
    """What to send, and how many messages of it were part of the request before."""

    messages: tuple[Message, ...]
    stable: int


class _Start(Struct, frozen=True):
    """Where a turn begins, and what held then."""

    index: int
    beginning: Beginning


_Item = TextBlock | _GuidanceNote | tuple[AssistantBlock, ...]


@dataclass(slots=True)
class History:
    """The fold. `apply` every durable event, in order; `messages` is what to send.

    A fold need not begin with the first line of its journal: one that began as `beginning(undoable)` said then gives
    the same messages, pins and guidance as one that saw everything, as long as nothing goes back beyond it: no more
    than `undoable` compactions are undone (`can_undo_compaction`), and no turn is rewound to that is not there
    (`can_rewind_to`). Before one of these is recorded, the session must fold its whole journal.
    """

    _items: list[_Item] = field(default_factory=list[_Item])
    """Prompts and notes as text blocks, model messages as tuples of blocks."""
    _starts: dict[int, _Start] = field(default_factory=dict[int, _Start])
    """Where each turn's prompt stands among them, oldest first."""
    _results: dict[CallId, ToolResult] = field(default_factory=dict[CallId, ToolResult])
    _compactions: list[Compaction] = field(default_factory=list[Compaction])
    """Those in force, each on top of the one before."""
    _asked_at: int = -1
    """How many items the last request had; -1 before the first."""
    _pins: dict[str, Pin] = field(default_factory=dict[str, Pin])
    _always: tuple[GuidanceFile, ...] = ()
    """The guidance that stands in the system prompt."""
    _folders: dict[str, GuidanceFile] = field(default_factory=dict[str, GuidanceFile])
    """The guidance that came into the conversation, by path."""
    is_whole: bool = True
    """Whether it saw the journal from its first line; a caller that begins later says so."""
    _is_undone: bool = False
    _is_as_answered: bool = False

    # -- questions --

    @property
    def pins(self) -> tuple[Pin, ...]:
        """What stays in sight, oldest first."""
        return tuple(self._pins.values())

    @property
    def guidance(self) -> tuple[GuidanceFile, ...]:
        """The AGENTS.md files that hold: those of the system prompt first, then those of folders."""
        return (*self._always, *self._folders.values())

    @property
    def compaction(self) -> Compaction | None:
        """The one whose summary is shown."""
        return self._compactions[-1] if self._compactions else None

    @property
    def is_compaction_undone(self) -> bool:
        """Whether the user took the last compaction back and there was none since."""
        return self._is_undone

    @property
    def is_as_answered(self) -> bool:
        """Whether the conversation only grew since the last answer, so that what was reported with it still holds."""
        return self._is_as_answered

    @property
    def turns(self) -> tuple[int, ...]:
        """The turns that are shown word by word, oldest first."""
        end = self._compactions[-1].end if self._compactions else 0
        return tuple(turn for turn, start in self._starts.items() if start.index >= end)

    @property
    def can_undo_compaction(self) -> bool:
        """Whether the fold has what the compaction in force stands for."""
        return bool(self._compactions) and (self.is_whole or len(self._compactions) > 1)

    def can_rewind_to(self, turn: int) -> bool:
        """Whether the fold has everything before this turn that would be shown again."""
        return self.is_whole or self.has_turn(turn)

    def has_turn(self, turn: int) -> bool:
        """Whether the fold has this turn, shown or summarised, so that it can go back to before it."""
        return turn in self._starts

    def beginning(self, undoable: int = 1) -> Beginning:
        """Return from where a fold must begin to come to this one, and be able to undo `undoable` compactions."""
        if len(self._compactions) <= undoable:
            return Beginning(1, ())
        compaction = self._compactions[-1 - undoable]
        return compaction.beginning

    def turn_sizes(self) -> dict[int, float]:
        """Estimate what each turn takes that is shown word by word, oldest first."""
        shown, short = frozenset(self.turns), self._shortened()
        return {
            turn: message_tokens(self._built(first, last, short).messages)
            for turn, (first, last) in self._bounds().items()
            if turn in shown
        }

    def long_results(self, turns: Sequence[int]) -> list[tuple[CallId, float]]:
        """Return the calls of these turns whose results could be shortened, oldest first, and how much that saves.

        Those of the last message are not among them: the model has not read them yet.
        """
        saved: list[tuple[CallId, float]] = []
        done = self._shortened()
        bounds = self._bounds()
        for turn in turns:
            first, last = bounds.get(turn, (0, 0))
            messages = [item for item in self._items[first:last] if isinstance(item, tuple)]
            for call_id in (block.id for item in messages for block in item if isinstance(block, ToolUseBlock)):
                result = self._results.get(call_id)
                if result is not None and call_id not in done and is_worth_it(result):
                    whole, short = _answer(call_id, result), _answer(call_id, shortened(result))
                    saved.append((call_id, block_tokens(whole) - block_tokens(short)))
        newest = {call.id for call in self.newest_calls()}
        return [(call_id, size) for call_id, size in saved if call_id not in newest]

    def newest_calls(self) -> tuple[ToolUseBlock, ...]:
        """Return the calls of the last message of the model."""
        newest = next((item for item in reversed(self._items) if isinstance(item, tuple)), ())
        return tuple(block for block in newest if isinstance(block, ToolUseBlock))

    def messages_through(self, turn: int) -> tuple[Message, ...]:
        """Return what is shown up to the end of a turn: what a compaction through it summarises."""
        compaction = self.compaction
        return self._built(
            compaction.end if compaction else 0, self._bounds().get(turn, (0, 0))[1], self._shortened()
        ).messages

    def messages(self) -> tuple[Message, ...]:
        """Return the conversation, roles alternating, the first one the user's."""
        return self.conversation().messages

    def conversation(self) -> Conversation:
        """Return the messages, and how many of them were part of the request before."""
        compaction = self.compaction
        if compaction is None:
            return self._built(0, len(self._items), frozenset())
        head: list[UserBlock] = []
        if compaction.through_turn:
            head.append(TextBlock(text=rendered(compaction.summary)))
            head += [TextBlock(text=_guidance_text(file.path, file)) for file in compaction.guidance]
        return self._built(compaction.end, len(self._items), compaction.shortened, head, compaction.made_at)

    # -- the fold --

    def apply(self, event: ev.Event) -> None:
        """Fold one event in; events that the model need not know of are ignored."""
        match event:
            case ev.PromptSubmitted(turn=turn, text=text, seq=seq):
                self._starts.pop(turn, None)  # a hostile journal: the order of turns must stay that of the items
                self._starts[turn] = _Start(len(self._items), Beginning(seq, self._held()))
                self._items.append(TextBlock(text=text))
            case ev.MessageDone():
                self._message(event)
            case ev.ToolCallFinished(call_id=call_id, result=result):
                self._results.setdefault(call_id, result)
            case ev.ChangesUndone(outcomes=outcomes, reason=reason):
                self._note("undid", outcomes, reason)
            case ev.ChangesRedone(outcomes=outcomes, reason=reason):
                self._note("redid", outcomes, reason)
            case ev.Rewound(turn=turn, scope=scope) if scope != "files":
                self._rewind(turn)
            case ev.TurnEnded(reason="interrupted"):
                self._items.append(TextBlock(text=STOPPED))
            case ev.Compacted() | ev.SummaryEdited() | ev.CompactionUndone():
                self._compact(event)
            case ev.Pinned(pin=pin):
                self._pins[pin.id] = pin
            case ev.Unpinned(pin_id=pin_id):
                self._pins.pop(pin_id, None)
            case ev.GuidanceLoaded(files=files):
                self._guide(files)
            case _:
                pass

    def _message(self, event: ev.MessageDone) -> None:
        self._asked_at = len(self._items)
        self._is_as_answered = event.stop_reason != "interrupted"
        if event.stop_reason == "refusal":
            return  # left out: providers keep refusing while it stands in the conversation
        self._items.append(event.content)
        if event.stop_reason == "model_context_window_exceeded":
            self._items.append(TextBlock(text=NO_ROOM))

    def _rewind(self, turn: int) -> None:
        """Go back to before `turn`. A compaction that summarised it is dropped: its summary describes what is gone."""
        gone = [number for number in self._starts if number >= turn]
        if not gone:
            return
        self._is_as_answered = False
        del self._items[min(self._starts[number].index for number in gone) :]
        for number in gone:
            del self._starts[number]
        size = len(self._items)
        self._asked_at = min(self._asked_at, size)
        self._compactions = [
            replace(compaction, made_at=min(compaction.made_at, size))
            for compaction in self._compactions
            if compaction.end <= size and compaction.through_turn < turn
        ]
        self._folders = self._folders_until(size)

    def _compact(self, event: ev.Compacted | ev.SummaryEdited | ev.CompactionUndone) -> None:
        self._is_as_answered = False
        match event:
            case ev.Compacted(compaction_id=identifier, through_turn=through, summary=summary):
                kept = [start for turn, start in self._starts.items() if turn > through]
                # One through no turn only shortens results of the first: nothing stands before those.
                end = kept[0].index if kept else len(self._items)
                first = kept[0].beginning if kept else Beginning(event.seq, self._held())
                compaction = Compaction(
                    id=identifier,
                    through_turn=through,
                    summary=summary,
                    end=end if through else 0,
                    made_at=len(self._items),
                    beginning=first if through else Beginning(1, ()),
                    guidance=tuple(self._folders_until(end).values()),
                    shortened=frozenset(event.shortened),
                )
                self._compactions.append(compaction)
                self._is_undone = False
            case ev.SummaryEdited(compaction_id=identifier, summary=summary):
                size = len(self._items)
                self._compactions = [
                    replace(one, summary=summary, made_at=size) if one.id == identifier else one
                    for one in self._compactions
                ]
            case ev.CompactionUndone(compaction_id=identifier):
                self._compactions = [one for one in self._compactions if one.id != identifier]
                self._is_undone = True

    def _guide(self, files: Sequence[GuidanceFile]) -> None:
        """Let the files of folders come into the conversation where they were read; the others are not part of it."""
        self._always = tuple(file for file in files if file.scope != "folder")
        folders = {file.path: file for file in files if file.scope == "folder"}
        for path in self._folders.keys() - folders.keys():
            self._items.append(_GuidanceNote(path, None))
        self._items += [_GuidanceNote(path, file) for path, file in folders.items() if self._folders.get(path) != file]
        self._folders = self._folders_until(len(self._items))

    def _held(self) -> tuple[ev.KnownEvent, ...]:
        """The events that a fold that begins here must receive first."""
        guidance = self.guidance
        told: list[ev.KnownEvent] = [ev.GuidanceLoaded(files=guidance)] if guidance else []
        return (*told, *(ev.Pinned(pin=pin) for pin in self._pins.values()))

    def _folders_until(self, end: int) -> dict[str, GuidanceFile]:
        """The guidance of folders that holds before the item at `end`, in the order in which it came."""
        holding: dict[str, GuidanceFile] = {}
        for item in self._items[:end]:
            if isinstance(item, _GuidanceNote):
                holding.pop(item.path, None)
                if item.file is not None:
                    holding[item.path] = item.file
        return holding

    def _note(self, verb: str, outcomes: Sequence[FileOutcome], reason: str) -> None:
        """Tell the model that the user took changes back, so that it does not build on what is gone."""
        touched = [outcome for outcome in outcomes if outcome.state in ("restored", "merged")]
        if not touched:
            return
        whole = {outcome.path for outcome in touched if not outcome.hunks}
        parts = {outcome.path for outcome in touched} - whole
        what = [*sorted(whole), *(f"{path} (a part of them)" for path in sorted(parts))]
        why = f" Their reason: {reason}" if reason else ""
        text = f"[The user {verb} your changes to: {', '.join(what)}.{why} Read a file again before editing it.]"
        self._items.append(TextBlock(text=text))

    # -- building messages --

    def _built(
        self,
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
            if index == self._asked_at and index >= made_at:
                stable = len(merged) + (1 if pending else 0)
            item = self._items[index]
            if isinstance(item, tuple):
                if not (blocks := _sendable(item)):
                    continue
                if pending:
                    _add_user(merged, self._answers(pending, short))
                _add_assistant(merged, blocks)
                pending = [block for block in blocks if isinstance(block, ToolUseBlock)]
            else:
                text = item if isinstance(item, TextBlock) else TextBlock(text=_guidance_text(item.path, item.file))
                _add_user(merged, [*self._answers(pending, short), text])
                pending = []
        if pending:
            _add_user(merged, self._answers(pending, short))
        if merged and isinstance(merged[0], AssistantMessage):
            merged.insert(0, UserMessage(content=(TextBlock(text=BEGINNING_LOST),)))
            stable += 1 if stable else 0
        return Conversation(tuple(merged), stable)

    def _answers(self, calls: Sequence[ToolUseBlock], short: frozenset[CallId]) -> list[UserBlock]:
        answers: list[UserBlock] = []
        for call in calls:
            result = self._results.get(call.id)
            answers.append(_answer(call.id, shortened(result) if result and call.id in short else result))
        return answers

    def _shortened(self) -> frozenset[CallId]:
        return self._compactions[-1].shortened if self._compactions else frozenset()

    def _bounds(self) -> dict[int, tuple[int, int]]:
        """Where the items of each turn begin and end, oldest first."""
        firsts = [start.index for start in self._starts.values()]
        return dict(zip(self._starts, pairwise([*firsts, len(self._items)]), strict=True))


def _answer(call_id: CallId, result: ToolResult | None) -> ToolResultBlock:
    if result is None:
        return ToolResultBlock(call_id=call_id, content=UNANSWERED, is_error=True)
    # Pictures stand only in a result that is no error: the API takes nothing but text in an error.
    images = () if result.is_error else result.images
    return ToolResultBlock(call_id=call_id, content=result.content, is_error=result.is_error, images=images)


def _guidance_text(path: str, file: GuidanceFile | None) -> str:
    folder = path.rpartition("/")[0]
    if file is None:
        return f"{GUIDANCE_NOTE} {folder}/: {path} is gone and holds no longer.]"
    cut = "\n[The file is longer; this is its beginning.]" if file.is_cut else ""
    return f"{GUIDANCE_NOTE} {folder}/, from {path}. It holds for the files in there:]\n{file.text}{cut}"


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
