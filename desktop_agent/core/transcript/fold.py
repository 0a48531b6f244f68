"""The fold itself: one event in, the entries it changes, and patches that say which."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, assert_never, cast, get_args

from desktop_agent.core import events as ev
from desktop_agent.core.ids import CallId, ChangeId, HunkKey, SessionId
from desktop_agent.core.model import (
    ApprovalPolicy,
    ApprovalRequest,
    AssistantBlock,
    ContextUse,
    FileImage,
    GuidanceFile,
    Job,
    JsonObject,
    LineComment,
    ModelRef,
    OutsideFile,
    Pin,
    RefChange,
    Rule,
    SandboxMode,
    TextBlock,
    ThinkingBlock,
    TodoItem,
    TodoStatus,
    ToolResult,
    Usage,
)
from desktop_agent.core.transcript.entries import (
    ChangeRecord,
    CommandEntry,
    CompactionEntry,
    Entry,
    ForkEntry,
    NoticeEntry,
    PromptEntry,
    QueuedPrompt,
    RewindEntry,
    TextEntry,
    ToolEntry,
    TurnEndEntry,
    UndoEntry,
)

OUTPUT_TAIL_CHARS = 65_536
"""How much live output of a call a transcript keeps; the whole is in the tool's result or its blob."""

RETRYING = "retrying"
"""The notice code after which a half-streamed message is void: the request is sent again."""

# --- patches ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Patch:
    """What one event changed.

    `append` and `remove` concern the entry at `index`; `update` says to draw it anew; `text` and `output` carry only
    what was added to it; `changes` means the recorded changes or their state; `status` everything outside the entries.
    """

    kind: Literal["append", "remove", "update", "text", "output", "changes", "status"]
    index: int = -1
    text: str = ""


STATUS = Patch("status")
CHANGES = Patch("changes")

Status = Literal["idle", "working", "waiting"]


@dataclass(slots=True)
class Transcript:
    """One session as a person sees it. Only `apply` changes it."""

    session_id: SessionId = ""
    workspace: str = ""
    title: str = ""
    model: ModelRef | None = None
    approval: ApprovalPolicy = "on_write"
    sandbox: SandboxMode = "restricted"
    jobs: tuple[Job, ...] = ()
    """The background commands of the running session; a journal alone has none."""
    rules: tuple[Rule, ...] = ()
    """The rules in force, as the running session last told them."""
    todos: tuple[TodoItem, ...] = ()
    """The agent's plan as it last wrote it."""
    opened_at: datetime = ev.UNSTAMPED
    updated_at: datetime = ev.UNSTAMPED
    last_seq: int = 0
    turn: int = 0
    """The number of the last turn; 0 before the first."""
    is_running: bool = False
    last_end: ev.TurnEndReason | None = None
    activity: str = ""
    """What happens right now beyond the entries: `writing edit_file (3.2 kB)`."""
    usage: Usage = field(default_factory=Usage)
    """Sum over all requests."""
    context_tokens: int = 0
    """How full the context was after the last request."""
    context: ContextUse | None = None
    """The same against the model's window, as the running session last told it."""
    is_title_given: bool = False
    """Whether the person gave the title."""
    is_archived: bool = False
    is_pinned: bool = False
    """Whether the person wants the session at the top of the list."""
    forked_from: SessionId = ""
    pins: dict[str, Pin] = field(default_factory=dict[str, Pin])
    """What stays in the model's sight, by id, oldest first."""
    guidance: tuple[GuidanceFile, ...] = ()
    """The AGENTS.md files that hold."""
    entries: list[Entry] = field(default_factory=list[Entry])
    changes: dict[ChangeId, ChangeRecord] = field(default_factory=dict[ChangeId, ChangeRecord])
    """In the order they were made, with the person's and with undos and redos."""
    kept: dict[str, set[HunkKey]] = field(default_factory=dict[str, set[HunkKey]])
    """By path, the hunks that the person decided to keep."""
    comments: dict[str, LineComment] = field(default_factory=dict[str, LineComment])
    """The person's remarks that are not sent yet, by id, oldest first."""
    rewound: set[int] = field(default_factory=set[int])
    """The turns that the model does not see any more."""
    queued: list[QueuedPrompt] = field(default_factory=list[QueuedPrompt])
    """Prompts that wait for the running turn, oldest first."""
    _tools: dict[CallId, int] = field(default_factory=dict[CallId, int])
    _put_back: set[tuple[CallId, RefChange | OutsideFile]] = field(
        default_factory=set[tuple[CallId, RefChange | OutsideFile]]
    )
    """What recoveries put back besides the changes, by the call that destroyed it."""
    _open: list[int] = field(default_factory=list[int])
    """Entries of the message that is being streamed."""

    # -- questions --

    @property
    def status(self) -> Status:
        """`waiting` when a running turn needs the person."""
        if not self.is_running:
            return "idle"
        return "waiting" if self.pending_approvals else "working"

    @property
    def pending_approvals(self) -> list[ApprovalRequest]:
        """What waits for the person, oldest first."""
        if not self.is_running:
            return []
        waiting = (self.entries[index] for index in self._tools.values())
        return [
            entry.approval for entry in waiting if isinstance(entry, ToolEntry) and entry.is_waiting and entry.approval
        ]

    def tool_entry(self, call_id: CallId) -> ToolEntry | None:
        """The entry of this call, if it has one."""
        index = self._tools.get(call_id)
        entry = self.entries[index] if index is not None else None
        return entry if isinstance(entry, ToolEntry) else None

    @property
    def call_ids(self) -> set[CallId]:
        """The ids of all tool calls so far."""
        return set(self._tools)

    def active_changes(self, turn: int | None = None) -> list[ChangeRecord]:
        """The agent's changes that stand (are not undone), of one turn or of all."""
        return [record for record in self._agents(turn) if not record.is_undone]

    def undone_changes(self) -> list[ChangeRecord]:
        """The agent's changes that are undone at the moment, wholly or in part."""
        return [record for record in self._agents(None) if record.is_undone or record.undone_hunks]

    def _agents(self, turn: int | None) -> list[ChangeRecord]:
        records = (record for record in self.changes.values() if record.change.is_by_agent)
        return [record for record in records if turn in (None, record.turn)]

    def last_images(self) -> dict[str, FileImage | None]:
        """How the records left each file that they name."""
        images: dict[str, FileImage | None] = {}
        for record in self.changes.values():
            change = record.change
            if record.is_undone:  # what the undo wrote follows as a record of its own, except in old journals
                images.setdefault(change.path, change.before)
            else:
                images[change.path] = change.after
        return images

    # -- the fold --

    def apply(self, event: ev.Event) -> list[Patch]:  # noqa: C901 - one closed vocabulary, matched exhaustively
        """Fold one event in and return what it changed. Never raises for events it does not expect."""
        if isinstance(event, ev.DurableEvent):
            self.last_seq = max(self.last_seq, event.seq)  # a line of another program may say anything
            self.updated_at = event.at
        match event:
            case ev.TextDelta():
                return self._stream("text", event.turn, event.text)
            case ev.ThinkingDelta():
                return self._stream("thinking", event.turn, event.text)
            case ev.ToolOutputDelta():
                return self._output(event)
            case ev.ToolProgress():
                self.activity = event.message
                return [STATUS]
            case ev.MessageDone():
                return self._message_done(event)
            case ev.ToolCallStarted():
                return self._tool_started(event)
            case ev.ToolCallFinished():
                return self._tool_finished(event)
            case ev.ApprovalRequested() | ev.ApprovalResolved():
                return self._approval(event)
            case ev.ChangesRecorded():
                return self._changes_recorded(event)
            case ev.ChangesUndone() | ev.ChangesRedone():
                return self._changes_reverted(event)
            case ev.ReviewMarked() | ev.CommentAdded() | ev.CommentsRemoved():
                return self._reviewed(event)
            case ev.Rewound():
                return self._rewound(event)
            case ev.PromptSubmitted() | ev.Queued() | ev.Unqueued():
                return self._prompt(event)
            case ev.TurnStarted() | ev.TurnEnded():
                return self._turn(event)
            case ev.Notice():
                return self._notice(event)
            case ev.SessionOpened() | ev.SessionRenamed() | ev.ModeSet() | ev.UsageReported():
                return self._header(event)
            case ev.SessionForked() | ev.SessionArchived() | ev.SessionPinned():
                return self._session(event)
            case ev.Compacted() | ev.SummaryEdited() | ev.CompactionUndone():
                return self._compaction(event)
            case ev.Pinned() | ev.Unpinned() | ev.GuidanceLoaded() | ev.ContextMeasured():
                return self._seen_by_model(event)
            case ev.CommandRun():
                entry = CommandEntry(text=event.text, output=event.output, is_error=event.is_error, at=event.at)
                return [self._append(entry)]
            case ev.JobsReported():
                self.jobs = event.jobs
                return [STATUS]
            case ev.RulesReported():
                self.rules = event.rules
                return [STATUS]
            case ev.ChangesPrepared() | ev.RuleRevoked() | ev.PromptRejected() | ev.UnknownEvent():
                return []
            case _:
                assert_never(event)

    def _append(self, entry: Entry) -> Patch:
        self.entries.append(entry)
        return Patch("append", len(self.entries) - 1)

    def _stream(self, kind: Literal["text", "thinking"], turn: int, text: str) -> list[Patch]:
        if self._open:
            index = self._open[-1]
            entry = self.entries[index]
            if isinstance(entry, TextEntry) and entry.kind == kind:
                entry.chunks.append(text)
                return [Patch("text", index, text)]
        patch = self._append(TextEntry(turn=turn, chunks=[text], is_open=True, kind=kind))
        self._open.append(patch.index)
        return [patch]

    def _message_done(self, event: ev.MessageDone) -> list[Patch]:
        """Make the streamed entries final; create them when nothing was streamed (replay)."""
        self.activity = ""
        patches = [STATUS]
        streamed = [self.entries[index] for index in self._open]
        final = _readable(event.content)
        matches = [(e.kind, e.text) for e in streamed if isinstance(e, TextEntry)] == final
        if matches:
            for index in self._open:
                entry = self.entries[index]
                assert isinstance(entry, TextEntry)
                entry.is_open = False
                patches.append(Patch("update", index))
            self._open.clear()
            return patches
        patches += self._discard_open()
        patches += [
            self._append(TextEntry(turn=event.turn, chunks=[text], is_open=False, kind=kind)) for kind, text in final
        ]
        return patches

    def _discard_open(self) -> list[Patch]:
        """Drop what was streamed of a message that will come again."""
        patches: list[Patch] = []
        for index in reversed(self._open):
            del self.entries[index]
            self._tools = {call_id: at - (at > index) for call_id, at in self._tools.items()}
            patches.append(Patch("remove", index))
        self._open.clear()
        return patches

    def _close_open(self) -> list[Patch]:
        """Keep what was streamed of a message that will never be finished."""
        patches: list[Patch] = []
        for index in self._open:
            entry = self.entries[index]
            if isinstance(entry, TextEntry):
                entry.is_open = False
                patches.append(Patch("update", index))
        self._open.clear()
        return patches

    def _tool_started(self, event: ev.ToolCallStarted) -> list[Patch]:
        entry = ToolEntry(
            turn=event.turn,
            call=event.call,
            title=event.title,
            is_read_only=event.is_read_only,
            started_at=event.at,
        )
        patch = self._append(entry)
        self._tools[event.call.id] = patch.index
        return [patch]

    def _output(self, event: ev.ToolOutputDelta) -> list[Patch]:
        entry = self.tool_entry(event.call_id)
        if entry is None:
            return []
        entry.output_chars += len(event.text)
        entry.output_tail = (entry.output_tail + event.text)[-OUTPUT_TAIL_CHARS:]
        return [Patch("output", self._tools[event.call_id], event.text)]

    def _tool_finished(self, event: ev.ToolCallFinished) -> list[Patch]:
        entry = self.tool_entry(event.call_id)
        if entry is None:
            return []
        entry.state = event.state
        entry.result = event.result
        entry.duration_s = event.duration_s
        todos = todos_of(event.result)
        if todos is None:
            return [Patch("update", self._tools[event.call_id])]
        self.todos = todos
        return [Patch("update", self._tools[event.call_id]), STATUS]

    def _approval(self, event: ev.ApprovalRequested | ev.ApprovalResolved) -> list[Patch]:
        if isinstance(event, ev.ApprovalRequested):
            call_id = event.request.call_id
            entry = self.tool_entry(call_id)
            if entry is not None:
                entry.approval, entry.decision = event.request, None
        else:
            call_id = event.call_id
            entry = self.tool_entry(call_id)
            if entry is not None:
                entry.decision = event.decision
        return [Patch("update", self._tools[call_id]), STATUS] if entry is not None else [STATUS]

    def _changes_recorded(self, event: ev.ChangesRecorded) -> list[Patch]:
        for change in event.changes:
            self.changes[change.id] = ChangeRecord(change, event.turn, event.call_id, event.at)
        entry = self.tool_entry(event.call_id)
        if entry is None:
            return [CHANGES]
        entry.changes += event.changes
        entry.uncaptured += event.uncaptured
        entry.refs += event.refs
        entry.outside += event.outside
        entry.is_recoverable = entry.is_recoverable or event.is_recoverable
        return [Patch("update", self._tools[event.call_id]), CHANGES]

    def _changes_reverted(self, event: ev.ChangesUndone | ev.ChangesRedone) -> list[Patch]:
        is_undo = isinstance(event, ev.ChangesUndone)
        for change in event.changes:
            self.changes[change.id] = ChangeRecord(change, self.turn, "", event.at)
        for change_id in event.change_ids:
            if record := self.changes.get(change_id):
                record.is_undone = is_undo
                record.undone_hunks = frozenset()
        partly = (reverted for change in event.changes for reverted in change.reverts if reverted.hunks)
        for reverted in partly:
            if record := self.changes.get(reverted.change_id):
                record.undone_hunks = frozenset(reverted.hunks)
                record.is_undone = False
        entry = UndoEntry(
            purpose="undo" if is_undo else "redo", outcomes=event.outcomes, at=event.at, reason=event.reason
        )
        if isinstance(event, ev.ChangesUndone):
            entry.refs, entry.outside = event.refs, event.outside
        return [self._append(entry), *self._note_recovered(event), CHANGES]

    def _note_recovered(self, event: ev.ChangesUndone | ev.ChangesRedone) -> list[Patch]:
        """Find out of which calls everything that they destroyed is back now."""
        call_id = event.selection.call_id or ""
        if isinstance(event, ev.ChangesUndone):
            self._put_back.update((call_id, item) for item in (*event.refs, *event.outside))
        patches: list[Patch] = []
        for own_id, index in self._tools.items():
            entry = self.tool_entry(own_id)
            if entry is None or not entry.is_recoverable:
                continue
            lost = (*(change for change in entry.refs if change.is_loss), *entry.outside)
            is_back = all(self.changes[change.id].is_undone for change in entry.changes if change.id in self.changes)
            is_back = is_back and all((own_id, item) in self._put_back for item in lost if not _is_index(item))
            if is_back != entry.is_recovered:
                entry.is_recovered = is_back
                patches.append(Patch("update", index))
        return patches

    def _reviewed(self, event: ev.ReviewMarked | ev.CommentAdded | ev.CommentsRemoved) -> list[Patch]:
        match event:
            case ev.ReviewMarked():
                kept = self.kept.setdefault(event.path, set())
                kept.update(event.hunks) if event.state == "kept" else kept.difference_update(event.hunks)
            case ev.CommentAdded():
                self.comments[event.comment.id] = event.comment
            case ev.CommentsRemoved():
                for comment_id in event.comment_ids:
                    self.comments.pop(comment_id, None)
            case _:
                assert_never(event)
        return [CHANGES]

    def _rewound(self, event: ev.Rewound) -> list[Patch]:
        if event.scope != "files":
            self.rewound.update(range(event.turn, self.turn + 1))
        return [self._append(RewindEntry(turn=event.turn, scope=event.scope, at=event.at)), STATUS]

    def _prompt(self, event: ev.PromptSubmitted | ev.Queued | ev.Unqueued) -> list[Patch]:
        self.queued = [prompt for prompt in self.queued if prompt.prompt_id != event.prompt_id]
        match event:
            case ev.Queued():
                self.queued.append(QueuedPrompt(event.prompt_id, event.text))
            case ev.PromptSubmitted():
                if not self.title:
                    self.title = _first_line(event.text)
                entry = PromptEntry(prompt_id=event.prompt_id, text=event.text, turn=event.turn, at=event.at)
                return [self._append(entry), STATUS]
            case ev.Unqueued():
                pass
            case _:
                assert_never(event)
        return [STATUS]

    def _turn(self, event: ev.TurnStarted | ev.TurnEnded) -> list[Patch]:
        self.activity = ""
        if isinstance(event, ev.TurnStarted):
            self.turn = event.turn
            self.is_running = True
            self.model = event.model
            return [STATUS]
        self.is_running = False
        self.last_end = event.reason
        patches = self._close_open()
        if event.reason != "completed":
            entry = TurnEndEntry(
                turn=event.turn, reason=event.reason, requests=event.requests, duration_s=event.duration_s
            )
            patches.append(self._append(entry))
        return [*patches, STATUS]

    def _notice(self, event: ev.Notice) -> list[Patch]:
        discarded = self._discard_open() if event.code == RETRYING else []
        return [*discarded, self._append(NoticeEntry(notice=event)), STATUS]

    def _session(self, event: ev.SessionForked | ev.SessionArchived | ev.SessionPinned) -> list[Patch]:
        match event:
            case ev.SessionForked():
                self.forked_from = event.source
                entry = ForkEntry(source=event.source, title=event.title, before_turn=event.before_turn, at=event.at)
                return [self._append(entry), STATUS]
            case ev.SessionArchived():
                self.is_archived = event.is_archived
            case ev.SessionPinned():
                self.is_pinned = event.is_pinned
            case _:
                assert_never(event)
        return [STATUS]

    def _compaction(self, event: ev.Compacted | ev.SummaryEdited | ev.CompactionUndone) -> list[Patch]:
        if isinstance(event, ev.Compacted):
            entry = CompactionEntry(
                compaction_id=event.compaction_id,
                through_turn=event.through_turn,
                summary=event.summary,
                tokens_before=event.tokens_before,
                tokens_after=event.tokens_after,
                at=event.at,
                is_automatic=event.is_automatic,
            )
            return [self._append(entry), STATUS]
        for index in range(len(self.entries) - 1, -1, -1):
            entry = self.entries[index]
            if isinstance(entry, CompactionEntry) and entry.compaction_id == event.compaction_id:
                if isinstance(event, ev.SummaryEdited):
                    entry.summary = event.summary
                else:
                    entry.is_undone = True
                return [Patch("update", index), STATUS]
        return []

    def _seen_by_model(self, event: ev.Pinned | ev.Unpinned | ev.GuidanceLoaded | ev.ContextMeasured) -> list[Patch]:
        match event:
            case ev.Pinned(pin=pin):
                self.pins[pin.id] = pin
            case ev.Unpinned(pin_id=pin_id):
                self.pins.pop(pin_id, None)
            case ev.GuidanceLoaded(files=files):
                self.guidance = files
            case ev.ContextMeasured(use=use):
                self.context = use
            case _:
                assert_never(event)
        return [STATUS]

    def _header(self, event: ev.SessionOpened | ev.SessionRenamed | ev.ModeSet | ev.UsageReported) -> list[Patch]:
        match event:
            case ev.SessionOpened():
                self.session_id = event.session_id
                self.workspace = event.workspace
                self.model, self.approval, self.sandbox = event.model, event.approval, event.sandbox
                self.opened_at = event.at
            case ev.SessionRenamed():
                self.title = event.title
                self.is_title_given = not event.is_generated
            case ev.ModeSet():
                self.model, self.approval, self.sandbox = event.model, event.approval, event.sandbox
            case ev.UsageReported():
                self.usage += event.usage
                if not event.is_aside:
                    self.context_tokens = event.usage.context_tokens
            case _:
                assert_never(event)
        return [STATUS]


def replay(events: Iterable[ev.Event]) -> Transcript:
    """Return the transcript of a whole journal."""
    transcript = Transcript()
    for event in events:
        transcript.apply(event)
    return transcript


def todos_of(result: ToolResult) -> tuple[TodoItem, ...] | None:
    """Return the plan that a call wrote (`todos` in its metadata), or None when it wrote none. Never raises."""
    listed = result.metadata.get("todos")
    if not isinstance(listed, list):
        return None
    items = (cast("JsonObject", item) for item in cast("list[object]", listed) if isinstance(item, dict))
    return tuple(
        TodoItem(id=str(item.get("id", "")), content=str(item.get("content", "")), status=_todo_status(item))
        for item in items
    )


def _todo_status(item: JsonObject) -> TodoStatus:
    status = item.get("status")
    return cast("TodoStatus", status) if status in get_args(TodoStatus) else "pending"


def _readable(content: Sequence[AssistantBlock]) -> list[tuple[Literal["text", "thinking"], str]]:
    """The blocks a person reads, neighbours of one kind joined as they are while streaming."""
    readable: list[tuple[Literal["text", "thinking"], str]] = []
    for block in content:
        match block:
            case TextBlock(text=text) if text:
                piece = ("text", text)
            case ThinkingBlock(thinking=text) if text:
                piece = ("thinking", text)
            case _:
                continue
        if readable and readable[-1][0] == piece[0]:
            readable[-1] = (piece[0], readable[-1][1] + piece[1])
        else:
            readable.append(piece)
    return readable


def _first_line(text: str, limit: int = 80) -> str:
    line = text.strip().partition("\n")[0].strip()
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def _is_index(item: RefChange | OutsideFile) -> bool:
    """Whether it is git's list of what is staged, which the next look at the repository writes anew."""
    return isinstance(item, OutsideFile) and item.path.endswith("/index") and "/.git/" in item.path
