"""Reports everything that is wrong with a stored session, and repairs it. The old journal is kept."""

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import cast

from msgspec import Struct, field

from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.base.ids import CallId, ChangeId, Digest, SessionId, is_digest
from desktop_agent.core.base.plain_text import number_of
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.codec import encode_event
from desktop_agent.core.protocol.model import Aborted, FileImage, JsonObject, ToolCall, ToolResult, ToolUseBlock
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.journal.journal import encode_line
from desktop_agent.core.store.journal.journal_reader import Damage, Readable, externalise, read_each_line
from desktop_agent.core.store.journal.lines import Line, decode_line
from desktop_agent.core.store.session_catalog import SessionCatalog
from desktop_agent.core.store.session_folder import SessionLock, is_locked
from desktop_agent.core.store.session_upkeep import NEVER_WRITTEN, discard_session
from desktop_agent.core.store.unfinished import Unfinished
from desktop_agent.core.system.files import read_state
from desktop_agent.core.system.staged_file import StagedFile, free_path, sync_folders


class Finding(Struct, frozen=True, kw_only=True):
    """One thing that is wrong with a session. Its `code` is stable, for programs."""

    code: str
    title: str
    repair: str = ""
    """Empty if nothing can be done about the problem, or nothing has to be."""
    is_settled: bool = False
    """Whether the session is read correctly anyway."""
    line: int | None = None
    detail: str = ""


class Report(Struct, frozen=True, kw_only=True):
    session_id: SessionId
    records: int
    findings: tuple[Finding, ...] = ()
    is_open_elsewhere: bool = False

    @property
    def is_fine(self) -> bool:
        return not self.findings


ChangeEvent = ev.ChangesPrepared | ev.ChangesRecorded | ev.ChangesUndone | ev.ChangesRedone


class Numbers(Struct):
    records: int = 0
    last: int = 0
    is_gap_explained: bool = False
    """Whether an unreadable line came after the last readable one, which explains missing record numbers."""
    unfinished: Unfinished = field(default_factory=Unfinished)
    given_up: set[CallId] = field(default_factory=set[CallId])
    finished: set[CallId] = field(default_factory=set[CallId])
    known: set[CallId] = field(default_factory=set[CallId])
    changes: set[ChangeId] = field(default_factory=set[ChangeId])
    prepared: set[ChangeId] = field(default_factory=set[ChangeId])
    doubtful: set[ChangeId] = field(default_factory=set[ChangeId])

    @property
    def open_calls(self) -> list[ToolUseBlock]:
        return [block for block in self.unfinished.calls.values() if block.id not in self.given_up]

    def concludes(self, event: ev.JournalEvent) -> bool:
        """Whether no open call can get a result any more after `event`."""
        return isinstance(event, ev.TurnEnded | ev.PromptSubmitted | ev.MessageDone) and bool(self.open_calls)

    def problems(self, event: ev.JournalEvent, number: int) -> Iterator[Finding]:
        if event.seq != self.last + 1 and not (self.is_gap_explained and event.seq > self.last):
            title = f"Record {event.seq} follows record {self.last}."
            yield Finding(code="wrong_sequence", title=title, repair="Records are renumbered.", line=number)
        if self.is_repeated(event):
            title = "A call has a second result."
            yield Finding(code="duplicate_result", title=title, repair="Only the first is kept.", line=number)
        match event:
            case ev.MessageDone(content=content):
                for block in content:
                    if isinstance(block, ToolUseBlock) and block.id in self.known:
                        title = "Two calls have the same id; the model may refuse the conversation."
                        yield Finding(code="duplicate_call", title=title, line=number, detail=block.id)
            case ev.ChangesPrepared() | ev.ChangesRecorded() | ev.ChangesUndone() | ev.ChangesRedone():
                if repeated := self.repeated(event):
                    title = f"An earlier version used {number_of(len(repeated), 'id')} for several changes each. "
                    title += f"All of them are kept, and told apart by their order: {repeated[0]}~1, {repeated[0]}~2."
                    ids = ", ".join(repeated)
                    yield Finding(code="duplicate_change", title=title, is_settled=True, line=number, detail=ids)
            case _:
                pass

    def repeated(self, event: ChangeEvent) -> list[ChangeId]:
        times = Counter(change.id for change in event.changes)
        if isinstance(event, ev.ChangesPrepared):
            return [one for one, count in times.items() if count > 1 or one in self.changes or one in self.prepared]
        return [one for one, count in times.items() if one not in self.doubtful and (count > 1 or one in self.changes)]

    def is_repeated(self, event: ev.JournalEvent) -> bool:
        return isinstance(event, ev.ToolCallFinished) and event.call_id in self.finished

    def apply(self, event: ev.JournalEvent) -> None:
        self.records += 1
        self.last, self.is_gap_explained = event.seq, False
        self.unfinished.apply(event)
        match event:
            case ev.MessageDone(content=content):
                names = {block.id for block in content if isinstance(block, ToolUseBlock)}
                self.given_up -= names
                self.known |= names
            case ev.ToolCallFinished(call_id=call_id):
                self.finished.add(call_id)
            case ev.ChangesPrepared(changes=changes):
                self.doubtful = set(self.repeated(event))
                self.prepared |= {change.id for change in changes}
            case (
                ev.ChangesRecorded(changes=changes)
                | ev.ChangesUndone(changes=changes)
                | ev.ChangesRedone(changes=changes)
            ):
                self.changes |= {change.id for change in changes}
            case _:
                pass


def verify(catalog: SessionCatalog, session_id: SessionId, *, is_ours: bool = False) -> Report:
    """Return a session's problems. Blocks. `is_ours`: the caller has its lock. Raises `SessionNotFoundError`."""
    path = catalog.journal_path(session_id)
    is_open = not is_ours and is_locked(path.parent)
    numbers, findings = Numbers(), list[Finding]()
    try:
        findings += _of_journal(path, catalog.blobs, numbers, is_open=is_open)
    except StorageError as error:
        findings.append(Finding(code="unreadable_journal", title=error.title, detail=error.detail))
    if not is_open and not catalog.is_right(session_id):  # the writer of an open session updates its summary
        title = "The session list shows something else than the session says."
        findings.append(Finding(code="stale_cache", title=title, repair="It is rebuilt."))
    return Report(session_id=session_id, records=numbers.records, findings=tuple(findings), is_open_elsewhere=is_open)


def _of_journal(path: Path, blobs: Blobs, numbers: Numbers, *, is_open: bool) -> Iterator[Finding]:
    named: dict[Digest, tuple[int, int]] = {}
    for line, found in read_each_line(path, blobs):
        if isinstance(found, Damage):
            if line.is_ended or not is_open:
                yield _damage(line, found)
            numbers.is_gap_explained = True
            continue
        if not numbers.records and not isinstance(found.event, ev.SessionOpened):
            title = "The line that names the folder of the session is missing. It can be read, but not continued."
            yield Finding(code="no_opening", title=title, line=line.number)
        yield from _lost(line, found)
        yield from _missing_results(numbers, found.event, line.number)
        yield from numbers.problems(found.event, line.number)
        numbers.apply(found.event)
        for digest, size in references(found.event):
            named.setdefault(digest, (size, line.number))
    if not numbers.records and not is_open:
        yield Finding(code="empty", title=NEVER_WRITTEN, repair="It is removed: there is nothing in it.")
    elif not is_open and not numbers.unfinished.is_waiting and (finding := _unfinished(numbers)) is not None:
        yield finding
    for digest, (size, number) in named.items():
        if (reason := blob_problem(blobs, digest, size)) is not None:
            title = f"{reason} What it belongs to cannot be shown or undone."
            repair = "It is taken from the file itself, if that still has it."
            yield Finding(code="missing_blob", title=title, repair=repair, line=number, detail=digest)


def references(event: ev.JournalEvent) -> Iterator[tuple[Digest, int]]:
    yield from _named_in(encode_event(event))


def blob_problem(blobs: Blobs, digest: Digest, size: int) -> str | None:
    try:
        for _ in blobs.blocks(digest, size=size):
            pass
    except StorageError as error:
        return error.title
    return None


def _named_in(value: object) -> Iterator[tuple[Digest, int]]:
    if isinstance(value, dict):
        fields = cast("JsonObject", value)
        digest, size = fields.get("digest", fields.get("blob")), fields.get("size")
        if isinstance(digest, str) and isinstance(size, int) and is_digest(digest) and fields.get("kind") != "folder":
            yield digest, size
        for inner in fields.values():
            yield from _named_in(inner)
    elif isinstance(value, list):
        for inner in cast("list[object]", value):
            yield from _named_in(inner)


def _damage(line: Line, damage: Damage) -> Finding:
    repair = "It is taken out of the journal. The journal as it was is kept beside it."
    if not line.is_ended:
        title = "The last record was cut off when the application ended."
        return Finding(code="torn_tail", title=title, repair=repair, line=line.number, detail=damage.reason)
    title = "A record cannot be read, and counts for nothing."
    return Finding(code="unreadable_line", title=title, repair=repair, line=line.number, detail=damage.reason)


def _lost(line: Line, record: Readable) -> Iterator[Finding]:
    for reason in record.lost:
        if isinstance(record.event, ev.SessionOpened):
            repair = "The folder's name is written into it."
            yield Finding(code="wrong_id", title=f"The session is not who it says: {reason}.", repair=repair, line=1)
        else:
            title = "A long text is missing or damaged. The rest of its record is used."
            yield Finding(code="missing_blob", title=title, line=line.number, detail=reason)


def _missing_results(numbers: Numbers, event: ev.JournalEvent, number: int) -> Iterator[Finding]:
    if numbers.concludes(event):
        repair = "A result that says so is put in its place."
        title = "A call of the agent's has no result."
        for block in numbers.open_calls:
            detail = f"{block.name} {block.id}"
            yield Finding(code="missing_result", title=title, repair=repair, line=number, detail=detail)
        numbers.given_up |= numbers.unfinished.calls.keys()


def _unfinished(numbers: Numbers) -> Finding | None:
    is_writing, blocks = numbers.unfinished.is_writing, numbers.open_calls
    if numbers.unfinished.turn is None and not blocks:
        return None
    calls = ", ".join(f"{block.name} {block.id}" for block in blocks)
    code = "missing_result" if blocks else "unfinished"
    title = "The application ended while the agent worked" + ("; calls have no result." if calls else ".")
    repair = "" if is_writing else "The calls get a result that says so, and the turn its end."
    if is_writing:
        title += " It may have been writing files: open the session, which finds out how far it got."
    return Finding(code=code, title=title, repair=repair, detail=calls)


KEPT_SUFFIX = ".before-repair"
NO_RESULT = "This call was not concluded: its result is missing in the session. Find out whether it took effect."
_BLOCK_BYTES = 2**20
_OF_THE_JOURNAL = frozenset(
    {"torn_tail", "unreadable_line", "wrong_sequence", "wrong_id", "missing_result", "duplicate_result", "unfinished"}
)


class Repaired(Struct, frozen=True):
    before: Report
    after: Report
    kept: Path | None
    """`None` if the journal did not have to change."""


def repair(catalog: SessionCatalog, session_id: SessionId) -> Repaired:
    """Return what was wrong and what remains. Blocks. Raises `SessionBusyError` and `StorageError`.

    The journal is then either the old or the repaired one, complete.
    """
    path = catalog.journal_path(session_id)
    lock = SessionLock(path.parent)
    try:
        before = verify(catalog, session_id, is_ours=True)
        codes = {finding.code for finding in before.findings}
        kept = None
        if "empty" in codes:
            lock.release()
            discard_session(path.parent)
            after = Report(session_id=session_id, records=0) if not path.exists() else before
            return Repaired(before, after, kept)
        if "missing_blob" in codes:
            _bring_back(path, catalog.blobs)
        if codes & _OF_THE_JOURNAL:
            kept = _rewrite(path, catalog.blobs)
        if not catalog.is_right(session_id):
            catalog.look_again(session_id)
        return Repaired(before, verify(catalog, session_id, is_ours=True), kept)
    except OSError as error:
        raise StorageError(
            "The session could not be repaired.",
            hint="Free some disk space, or check the permissions of the data folder.",
            detail=str(error),
        ) from error
    finally:
        lock.release()


def mended_lines(path: Path, blobs: Blobs) -> Iterator[bytes]:
    numbers = Numbers()
    unfinished = numbers.unfinished
    at = ev.UNSTAMPED
    for line, found in read_each_line(path, blobs):
        if isinstance(found, Damage) or numbers.is_repeated(found.event):
            continue
        event = found.event
        if numbers.concludes(event):
            for made in _conclusions(unfinished, getattr(event, "turn", 0)):
                yield _line_of(made, numbers.records + 1, at, blobs)
                numbers.apply(made)
        at = event.at if event.at != ev.UNSTAMPED else at
        yield _renumbered(line, event, numbers.records + 1)
        numbers.apply(event)
    if unfinished.is_waiting:
        return  # for the user: nothing is missing
    turn = unfinished.turn
    if not unfinished.is_writing and (unfinished.calls or turn is not None):
        endings = list(_conclusions(unfinished, turn or 0))
        if turn is not None:
            endings.append(ev.TurnEnded(turn=turn, reason="interrupted", requests=0, duration_s=0.0))
        for number, made in enumerate(endings, start=numbers.records + 1):
            yield _line_of(made, number, at, blobs)


def _rewrite(path: Path, blobs: Blobs) -> Path:
    with StagedFile(path.parent) as draft:
        for line in mended_lines(path, blobs):
            draft.write(line)
        draft.sync()
        kept = _keep(path)
        draft.place(path)
    sync_folders((path.parent,))
    return kept


def _keep(path: Path) -> Path:
    kept = free_path(path.parent, f"{path.name}{KEPT_SUFFIX}")
    try:
        os.link(path, kept)
    except OSError:  # not every file system has hard links
        with path.open("rb") as source, StagedFile(path.parent) as draft:
            while block := source.read(_BLOCK_BYTES):
                draft.write(block)
            draft.sync()
            draft.place(kept)
    sync_folders((path.parent,))
    return kept


def _conclusions(unfinished: Unfinished, turn: int) -> Iterator[ev.KnownEvent]:
    asked_in = turn if unfinished.turn is None else unfinished.turn
    for call_id in sorted(unfinished.asked):
        decision = Aborted(reason="The application ended before an answer came.")
        yield ev.ApprovalResolved(turn=asked_in, call_id=call_id, decision=decision)
    for block in list(unfinished.calls.values()):
        if block.id not in unfinished.started:
            call = ToolCall(id=block.id, name=block.name, arguments=block.arguments)
            yield ev.ToolCallStarted(
                turn=turn, call=call, title=block.name, source="system", capabilities=(), is_read_only=True
            )
        result = ToolResult(content=NO_RESULT, is_error=True, error_type="recoverable")
        yield ev.ToolCallFinished(turn=turn, call_id=block.id, state="failed", result=result, duration_s=0.0)
    yield from unfinished.lost_subagents(asked_in)


def _line_of(event: ev.KnownEvent, number: int, at: datetime, blobs: Blobs) -> bytes:
    return encode_line(externalise(encode_event(event.stamped(number, at)), blobs))


def _renumbered(line: Line, event: ev.JournalEvent, number: int) -> bytes:
    assert line.content is not None, "what was read is there"
    fields = decode_line(line)
    right: JsonObject = {"seq": number}
    if isinstance(event, ev.SessionOpened):
        right["session_id"] = event.session_id
    if all(fields.get(name) == value for name, value in right.items()):
        return line.content.removesuffix(b"\r") + b"\n"
    return encode_line(fields | right)


def _bring_back(path: Path, blobs: Blobs) -> None:
    workspace: Path | None = None
    for _, found in read_each_line(path, blobs):
        if isinstance(found, Damage):
            continue
        if isinstance(found.event, ev.SessionOpened):
            workspace = Path(found.event.workspace)
        if workspace is None or not workspace.is_absolute():
            return
        if not isinstance(found.event, ev.ChangesRecorded | ev.ChangesUndone | ev.ChangesRedone):
            continue
        sizes = dict(references(found.event))
        for change in found.event.changes:
            image = change.after
            if image and image.digest in sizes and blob_problem(blobs, image.digest, image.size) is not None:
                _store_again(workspace / change.path, image, blobs)


def _store_again(file: Path, image: FileImage, blobs: Blobs) -> None:
    with suppress(OSError):
        if image.kind == "file" and file.lstat().st_size != image.size:
            return
        state = read_state(file)
        if state is not None and state.digest == image.digest:
            blobs.put(state.content)
