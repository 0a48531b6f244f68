"""Repair: a journal without what was wrong with it, put in place in one step, with the old one kept beside it.

Nothing is invented. Lines that cannot be read go, records are numbered anew, and a call that has no result gets one
that says so. Records of kinds and versions that this program does not know stay as they are, but for their number.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from msgspec import Struct

from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.codec import encode_event
from desktop_agent.core.protocol.model import Aborted, FileImage, JsonObject, ToolCall, ToolResult
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.catalog import Catalog
from desktop_agent.core.store.journal.line_writing import encode_line
from desktop_agent.core.store.journal.lines import Line, decode_line
from desktop_agent.core.store.journal.payloads import externalise
from desktop_agent.core.store.journal.reading import Damage, read_each_line
from desktop_agent.core.store.lock import SessionLock
from desktop_agent.core.store.removal import discard_session
from desktop_agent.core.store.unfinished import Unfinished
from desktop_agent.core.store.verify import CacheCheck, Numbers, Report, blob_problem, images, references, verify
from desktop_agent.core.system.files import read_state
from desktop_agent.core.system.staged_file import StagedFile, sync_folders

KEPT_SUFFIX = ".before-repair"
NO_RESULT = "This call was not concluded: its result is missing in the session. Find out whether it took effect."
_BLOCK_BYTES = 2**20
_OF_THE_JOURNAL = frozenset(
    {"torn_tail", "unreadable_line", "wrong_sequence", "wrong_id", "missing_result", "duplicate_result", "unfinished"}
)


class Repaired(Struct, frozen=True):
    """What a repair came to."""

    before: Report
    after: Report
    kept: Path | None
    """The journal as it was; None when it did not have to change."""


def repair(catalog: Catalog, session_id: SessionId, *, caches: Sequence[CacheCheck] = ()) -> Repaired:
    """Mend what can be mended and report what was and what is left. Blocks.

    Raises `SessionBusyError` when the session is open elsewhere, and `StorageError` when the disk does not allow it: a
    journal is the old one or the mended one then, whole.
    """
    path = catalog.journal_path(session_id)
    lock = SessionLock(path.parent)
    try:
        before = verify(catalog, session_id, caches=caches, is_ours=True)
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
        for cache in caches:
            if cache.problem(session_id):
                cache.rebuild(session_id)
        return Repaired(before, verify(catalog, session_id, caches=caches, is_ours=True), kept)
    except OSError as error:
        raise StorageError(
            "The session could not be repaired.",
            hint="Free some disk space, or check the permissions of the data folder.",
            detail=str(error),
        ) from error
    finally:
        lock.release()


def mended_lines(path: Path, blobs: Blobs) -> Iterator[bytes]:
    """Yield the lines of a journal as they should be, each with its newline."""
    numbers = Numbers()
    unfinished = numbers.unfinished
    count = 0
    at = ev.UNSTAMPED
    for line, found in read_each_line(path, blobs):
        if isinstance(found, Damage) or numbers.is_repeated(found.event):
            continue
        event = found.event
        if numbers.concludes(event):
            for made in _conclusions(unfinished, getattr(event, "turn", 0)):
                count += 1
                yield _line_of(made, count, at, blobs)
                numbers.apply(made)
        count += 1
        at = event.at if event.at != ev.UNSTAMPED else at
        yield _renumbered(line, event, count)
        numbers.apply(event)
    if unfinished.is_waiting:
        return  # for the user: nothing is missing
    turn = unfinished.turn
    if not unfinished.is_writing and (unfinished.calls or turn is not None):
        endings = list(_conclusions(unfinished, turn or 0))
        if turn is not None:
            endings.append(ev.TurnEnded(turn=turn, reason="interrupted", requests=0, duration_s=0.0))
        for number, made in enumerate(endings, start=count + 1):
            yield _line_of(made, number, at, blobs)


def _rewrite(path: Path, blobs: Blobs) -> Path:
    """Put the mended journal in the place of the old one, and return where that is now."""
    with StagedFile(path.parent) as draft:
        for line in mended_lines(path, blobs):
            draft.write(line)
        draft.sync()
        kept = _keep(path)
        draft.place(path)
    sync_folders((path.parent,))
    return kept


def _keep(path: Path) -> Path:
    """Give the journal a second name, beside it."""
    kept = path.with_name(path.name + KEPT_SUFFIX)
    number = 1
    while kept.exists():
        number += 1
        kept = path.with_name(f"{path.name}{KEPT_SUFFIX}-{number}")
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
    """Yield an answer for every open question and a result for every open call."""
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


def _line_of(event: ev.KnownEvent, number: int, at: datetime, blobs: Blobs) -> bytes:
    return encode_line(externalise(encode_event(event.stamped(number, at)), blobs))


def _renumbered(line: Line, event: ev.JournalEvent, number: int) -> bytes:
    """The line as it was, byte for byte, unless its number or its session is wrong."""
    assert line.content is not None, "what was read is there"
    fields = decode_line(line)
    right: JsonObject = {"seq": number}
    if isinstance(event, ev.SessionOpened):
        right["session_id"] = event.session_id
    if all(fields.get(name) == value for name, value in right.items()):
        return line.content.removesuffix(b"\r") + b"\n"
    return encode_line(fields | right)


def _bring_back(path: Path, blobs: Blobs) -> None:
    """Store the contents that are missing and that files of the workspace still have."""
    workspace: Path | None = None
    for _, found in read_each_line(path, blobs):
        if isinstance(found, Damage):
            continue
        if isinstance(found.event, ev.SessionOpened):
            workspace = Path(found.event.workspace)
        if workspace is None or not workspace.is_absolute():
            return
        sizes = dict(references(found.event))
        for name, image in images(found.event):
            if image.digest in sizes and blob_problem(blobs, image.digest, image.size) is not None:
                _store_again(workspace / name, image, blobs)


def _store_again(file: Path, image: FileImage, blobs: Blobs) -> None:
    """Store what the file holds, if that is what the image says."""
    with suppress(OSError):
        if image.kind == "file" and file.lstat().st_size != image.size:
            return
        state = read_state(file)
        if state is not None and state.digest == image.digest:
            blobs.put(state.content)
