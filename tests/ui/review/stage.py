"""Diffs of real bytes, a transcript that grows call by call, and tasks that the test resumes."""

import asyncio
from collections.abc import Collection, Coroutine, Mapping, Sequence

from msgspec.structs import replace

from desktop_agent.core.changes.attribution import reviewed_diff
from desktop_agent.core.changes.net import net_change
from desktop_agent.core.diff.diff import as_read, diff_change
from desktop_agent.core.diff.hunks import with_landmarks
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import (
    ApprovalRequest,
    Author,
    ChangeSelection,
    CommittedFile,
    FileChange,
    FileDiff,
    FileImage,
    FileOutcome,
    LineComment,
    ModelRef,
    Share,
    ToolCall,
    Uncaptured,
)
from desktop_agent.core.transcript import ChangeRecord, Transcript
from desktop_agent.ui.review.diff.diff_view import DiffView
from tests.core.diff.changes import bytes_of, change_of


class Session:
    def __init__(self) -> None:
        self.transcript = Transcript()
        self.blobs: dict[str, bytes] = {}
        self._model = ModelRef(provider="demo", model="demo")
        self._changes = 0
        self._prompts = 0

    def start_turn(self, turn: int, prompt: str = "Fix it") -> None:
        self.transcript.apply(ev.PromptSubmitted(turn=turn, prompt_id=f"p-{turn}", text=prompt))
        self.transcript.apply(ev.TurnStarted(turn=turn, model=self._model))

    def end_turn(self, turn: int) -> None:
        self.transcript.apply(ev.TurnEnded(turn=turn, reason="completed", requests=1, duration_s=1.0))

    def change(
        self,
        turn: int,
        call_id: str,
        path: str,
        before: str | bytes | None,
        after: str | bytes | None,
        *,
        author: Author = "agent",
        uncaptured: tuple[Uncaptured, ...] = (),
    ) -> str:
        self._changes += 1
        old, new = bytes_of(before), bytes_of(after)
        change = change_of(f"{turn}.{self._changes}", path, old, new, author=author)
        for image, content in ((change.before, old), (change.after, new)):
            if image and content is not None:
                self.blobs[image.digest] = content
        call = ToolCall(id=call_id, name="edit_file", arguments={})
        self.transcript.apply(
            ev.ToolCallStarted(
                turn=turn, call=call, title=path, source="workspace", capabilities=("write_fs",), is_read_only=False
            )
        )
        self.transcript.apply(ev.ChangesRecorded(turn=turn, call_id=call_id, changes=(change,), uncaptured=uncaptured))
        return change.id

    def change_once(self) -> None:
        self.start_turn(1)
        self.change(1, "call-1", "src/pages.py", "one\n", "two\n")

    def rename(self, turn: int, call_id: str, old: str, new: str, content: str) -> None:
        away = self.change(turn, call_id, old, content, None)
        there = self.change(turn, call_id, new, None, content)
        records = self.transcript.changes
        records[away].change = replace(records[away].change, moved_to=new, added=0, removed=0)
        records[there].change = replace(records[there].change, kind="renamed", moved_from=old, added=0, removed=0)

    def keep(self, path: str, *keys: str) -> None:
        self.transcript.apply(ev.ReviewMarked(path=path, hunks=keys, state="kept"))

    def comment(self, comment_id: str, path: str, text: str, line: int = 0) -> None:
        comment = LineComment(
            id=comment_id, path=path, side="new", start=line, end=line + 1, quote="a line\n", text=text
        )
        self.transcript.apply(ev.CommentAdded(comment=comment))

    def recorded(self) -> tuple[FileChange, ...]:
        return tuple(record.change for record in self.transcript.changes.values())

    def undo(self, *change_ids: str, outcomes: tuple[FileOutcome, ...] = ()) -> None:
        selection = ChangeSelection(change_ids=change_ids)
        self.transcript.apply(ev.ChangesUndone(selection=selection, change_ids=change_ids, outcomes=outcomes))

    def redo(self, *change_ids: str) -> None:
        selection = ChangeSelection(change_ids=change_ids)
        self.transcript.apply(ev.ChangesRedone(selection=selection, change_ids=change_ids, outcomes=()))


class Source:
    """Compares at once; while held back, each answer waits until it is released."""

    def __init__(self, session: Session) -> None:
        self.blobs = session.blobs
        self.asked: list[list[str]] = []
        self.error: Exception | None = None
        self.versions_error: Exception | None = None
        self.is_held = False
        self.by_others: dict[str, set[str]] = {}
        self.owners: tuple[Share, ...] = (Share("agent", 1, 1),)

    async def diff(self, records: Sequence[ChangeRecord], recorded: Sequence[FileChange] = ()) -> FileDiff:
        self.asked.append([record.change.id for record in records])
        if self.is_held:
            await Hold()
        if self.error:
            raise self.error
        changes = [record.change for record in records]
        net, diff = net_change(changes), reviewed_diff(changes, recorded, self._content)
        return as_read(with_landmarks(diff), self._content(net.before), self._content(net.after))

    async def versions(self, records: Sequence[ChangeRecord]) -> tuple[bytes | None, bytes | None]:
        if self.versions_error:
            raise self.versions_error
        net = net_change([record.change for record in records])
        before, after = await self.contents((net.before, net.after))
        return before, after

    async def preview(self, request: ApprovalRequest) -> list[FileDiff]:
        if self.is_held:
            await Hold()
        if self.error:
            raise self.error
        return [self._compare(change) for change in request.changes]

    async def shares(
        self,
        folder: str,
        file: CommittedFile,
        records: Sequence[ChangeRecord],
        hunks: Sequence[str] = (),
        *,
        by_others: Collection[str] = (),
    ) -> tuple[Share, ...]:
        return self.owners

    async def left_by_others(self, folder: str, session_id: str) -> Mapping[str, Collection[str]]:
        return self.by_others

    async def change_diff(self, change: FileChange) -> FileDiff:
        return self._compare(change)

    async def contents(self, images: Sequence[FileImage | None]) -> tuple[bytes | None, ...]:
        if self.is_held:
            await Hold()
        if self.error:
            raise self.error
        return tuple(map(self._content, images))

    def _content(self, image: FileImage | None) -> bytes | None:
        return self.blobs[image.digest] if image else None

    def _compare(self, change: FileChange) -> FileDiff:
        before, after = self._content(change.before), self._content(change.after)
        return as_read(with_landmarks(diff_change(change, before, after)), before, after)


class Tasks:
    """Runs coroutines by hand: each runs until it blocks, and goes on when the test resumes it."""

    def __init__(self) -> None:
        self.waiting: list[Coroutine[object, object, None]] = []

    def spawn(self, task: Coroutine[object, object, None]) -> None:
        self._step(task)

    def let_go(self, index: int = 0) -> None:
        self._step(self.waiting.pop(index))

    def _step(self, task: Coroutine[object, object, None]) -> None:
        try:
            task.send(None)
        except StopIteration:
            return
        self.waiting.append(task)


class Hold:
    def __await__(self):
        yield


def message_of(view: DiffView) -> str:
    document = view.document
    return "" if document.has_lines else " ".join(filter(None, (document.heading, document.detail)))


def run_now(task: Coroutine[object, object, object]) -> None:
    with asyncio.Runner() as runner:
        runner.run(task)
