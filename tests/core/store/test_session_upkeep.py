"""Sessions are forked, annotated and removed, atomically."""

import asyncio
import json
import os
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from desktop_agent.core.base.errors import SessionBusyError, SessionNotFoundError, StorageError, UsageError
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import Allowed, ChangeSelection, Denied, ModelRef, TextBlock
from desktop_agent.core.providers.scripted import Call, Hang, Reply, Say, ScriptedProvider, Think, in_order
from desktop_agent.core.store.collect import collect
from desktop_agent.core.store.journal.journal_reader import read_journal
from desktop_agent.core.store.session_folder import SessionLock, is_locked
from desktop_agent.core.store.session_upkeep import empty_trash, file_session, remove_session, session_use
from desktop_agent.core.transcript import replay
from tests.core.export.conftest import MODEL, Written
from tests.harness import FrozenClock, Ground
from tests.trees import tree_of

REST = "1\n2\n3\n4\n"
LONG = "long " * 10_000
EDIT = Call("edit_file", {"path": "a.py", "old_str": "x = 1", "new_str": "x = 2"})
AGAIN = Call("edit_file", {"path": "a.py", "old_str": "x = 2", "new_str": "x = 3"})
REPLIES: list[Reply] = [[Think("Hm."), Say(LONG), EDIT], [Say("One.")], [AGAIN], [Say("Two.")]]


async def two_turns(ground: Ground) -> SessionId:
    ground.write("a.py", f"x = 1\n{REST}")
    async with ground.session(REPLIES, approval="never") as s:
        await s.prompt(f"First {LONG}")
        await s.prompt("Second")
        return s.id


def journal_of(ground: Ground, session_id: SessionId) -> Path:
    return ground.paths.sessions / session_id / "journal.jsonl"


async def fork(ground: Ground, source: SessionId, before_turn: int | None = None) -> SessionId:
    bench = ground.bench(ScriptedProvider(in_order([])))
    return await bench.stored.fork(source, before_turn=before_turn)


def lines_of(ground: Ground, session_id: SessionId) -> list[dict[str, object]]:
    return [json.loads(line) for line in journal_of(ground, session_id).read_bytes().splitlines()]


async def test_a_fork_is_a_copy_under_another_id_that_says_where_it_comes_from(ground: Ground) -> None:
    source = await two_turns(ground)
    before = tree_of(ground.paths.sessions / source)
    session_id = await fork(ground, source)
    assert session_id != source
    assert tree_of(ground.paths.sessions / source) == before
    copied, original = lines_of(ground, session_id), lines_of(ground, source)
    assert [line["seq"] for line in copied] == list(range(1, len(original) + 2))
    assert copied[1:-1] == original[1:]
    assert copied[0] == original[0] | {"session_id": session_id}
    events, damages = await asyncio.to_thread(
        read_journal, journal_of(ground, session_id), ground.bench(ScriptedProvider(in_order([]))).blobs
    )
    assert damages == []
    forked = replay(events).entries[-1]
    assert isinstance(forked, ev.SessionForked)
    assert (forked.source, forked.before_turn) == (source, None)
    assert forked.title.startswith("First long")
    assert journal_of(ground, session_id).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("before_turn", [None, 2, 1])
async def test_the_fork_sends_what_the_source_would_have_sent(ground: Ground, before_turn: int | None) -> None:
    ground.clock = FrozenClock()
    source = await two_turns(ground)
    kept = journal_of(ground, source).read_bytes()
    if before_turn is not None:  # the request that the source would have sent then
        lines = kept.splitlines(keepends=True)
        cut = next(i for i, line in enumerate(lines) if b'"prompt_submitted","turn":%d,' % before_turn in line)
        journal_of(ground, source).write_bytes(b"".join(lines[:cut]))
    async with ground.session([[Say("Three.")]], resume=source) as s:
        await s.prompt("Next")
        expected = s.last_request
    journal_of(ground, source).write_bytes(kept)
    session_id = await fork(ground, source, before_turn)
    async with ground.session([[Say("Three.")]], resume=session_id) as s:
        await s.prompt("Next")
        assert s.last_request.conversation != expected.conversation, "providers keep them apart"
        assert replace(s.last_request, conversation=expected.conversation) == expected


async def test_a_fork_before_a_turn_ends_there(ground: Ground) -> None:
    source = await two_turns(ground)
    session_id = await fork(ground, source, 2)
    prompts = [line["turn"] for line in lines_of(ground, session_id) if line["type"] == "prompt_submitted"]
    assert prompts == [1]
    async with ground.session([[Say("ok")]], resume=session_id) as s:
        ended = await s.prompt("Another second")
        assert ended.turn == 2
    with pytest.raises(UsageError, match="no turn 3"):
        await fork(ground, source, 3)
    with pytest.raises(SessionNotFoundError):
        await fork(ground, "20261121-213700-aaaaaa")
    assert len(list(ground.paths.sessions.iterdir())) == 2


async def test_a_fork_undoes_copied_changes_and_keeps_what_came_after_them(ground: Ground) -> None:
    """The files are as the source left them: changes unknown to the fork count as the user's."""
    source = await two_turns(ground)
    ground.write("a.py", f"x = 3\n{REST}# the user's\n")
    whole = await fork(ground, source)
    async with ground.session([], resume=whole) as s:
        undone = await s.carry_out(ops.UndoChanges(selection=ChangeSelection()), ev.ChangesUndone)
        assert [outcome.state for outcome in undone.outcomes] == ["merged"]
        assert ground.read("a.py") == f"x = 1\n{REST}# the user's\n"
        await s.carry_out(ops.RedoChanges(selection=ChangeSelection()), ev.ChangesRedone)
        assert ground.read("a.py") == f"x = 3\n{REST}# the user's\n"
    early = await fork(ground, source, 2)
    async with ground.session([], resume=early) as s:
        undone = await s.carry_out(ops.UndoChanges(selection=ChangeSelection()), ev.ChangesUndone)
        assert [outcome.state for outcome in undone.outcomes] == ["conflict"], "turn 2 of the source stands on it"
        assert ground.read("a.py") == f"x = 3\n{REST}# the user's\n"


async def test_a_running_session_is_forked_without_its_open_turn_and_its_queue(ground: Ground) -> None:
    ground.write("a.py", "x = 1\n")
    async with ground.session([[Say("One.")], [Say("…"), Hang()]]) as s:
        await s.prompt("First")
        await s.carry_out(ops.SubmitPrompt(text="Second"), ev.TextDelta, lambda event: event.turn == 2)
        await s.carry_out(ops.SubmitPrompt(text="Queued"), ev.Queued)
        session_id = await fork(ground, s.id)
        await s.carry_out(ops.Interrupt(), ev.TurnEnded)
    types = [line["type"] for line in lines_of(ground, session_id)]
    assert types.count("prompt_submitted") == types.count("turn_ended") == 1
    assert "queued" not in types
    async with ground.session([[Say("Two.")]], resume=session_id) as s:
        assert s.transcript.turns.status == "idle"
        assert s.transcript.turns.queued == []
        ended = await s.prompt("Second, otherwise")
        assert (ended.turn, ended.reason) == (2, "completed")


async def test_what_cannot_be_read_is_left_out_and_what_is_newer_is_kept(ground: Ground) -> None:
    source = await two_turns(ground)
    journal = journal_of(ground, source)
    newer = b'{"v":9,"seq":99,"type":"from_the_future","text":"\xc3\xbc"}\n'
    odd = b'{"type":[]}\n{"type":{},"seq":1}\n{"v":1e400,"type":"x"}\n'
    journal.write_bytes(journal.read_bytes() + b"broken\n\xff\n[1]\n" + odd + newer + b'{"v":1,"seq":100,"type":"tor')
    session_id = await fork(ground, source)
    *_, kept, forked = lines_of(ground, session_id)
    assert (kept["type"], kept["text"], forked["type"]) == ("from_the_future", "ü", "session_forked")
    assert (kept["seq"], forked["seq"]) == (len(lines_of(ground, session_id)) - 1, len(lines_of(ground, session_id)))
    journal.write_bytes(b"broken\n" + journal.read_bytes())
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[2:]))
    with pytest.raises(StorageError, match="first line"):
        await fork(ground, source)
    assert len(list(ground.paths.sessions.iterdir())) == 2


async def test_a_later_line_does_not_say_where_the_copy_works(ground: Ground) -> None:
    source = await two_turns(ground)
    journal = journal_of(ground, source)
    newer = b'{"v":9,"seq":1,"type":"from_the_future"}\n'
    journal.write_bytes(newer + journal.read_bytes())
    with pytest.raises(StorageError, match="first line"):
        await fork(ground, source)


async def test_the_source_s_filing_is_not_copied(ground: Ground) -> None:
    async with ground.session([[Say("One.")]]) as s:
        await s.prompt("First")
        s.submit(ops.RenameSession(title="Mine"))
        s.submit(ops.PinSession())
        await s.carry_out(ops.ArchiveSession(), ev.SessionArchived)
    async with ground.session([], resume=await fork(ground, s.id)) as forked:
        session = forked.transcript.session
        assert (session.title, session.is_pinned, session.is_archived) == ("Mine", False, False)


async def test_blobs_that_only_a_fork_names_any_more_are_kept(ground: Ground) -> None:
    source = await two_turns(ground)
    session_id = await fork(ground, source)
    shutil.rmtree(ground.paths.sessions / source)
    bench = ground.bench(ScriptedProvider(in_order([])))
    for path in ground.paths.blobs.rglob("*"):
        os.utime(path, (0, 0))
    collected = collect(bench.blobs, ground.paths.sessions, now=ground.clock.now())
    assert collected.removed == 0
    async with ground.session([[Say("ok")]], resume=session_id) as s:
        await s.prompt("Next")
        assert any(LONG in str(message.content) for message in s.last_request.messages)


async def test_the_model_of_the_source_at_that_time_is_the_fork_s(ground: Ground) -> None:
    async with ground.session([[Say("One.")], [Say("Two.")]]) as s:
        await s.prompt("First")
        s.submit(ops.SetMode(model=ModelRef(provider="scripted", model="other")))
        await s.prompt("Second")
    early, late = await fork(ground, s.id, 1), await fork(ground, s.id)
    for session_id, model in ((early, "scripted"), (late, "other")):
        async with ground.session([], resume=session_id) as forked:
            assert forked.transcript.session.model is not None
            assert forked.transcript.session.model.model == model


async def test_a_fork_begins_without_the_rules_of_its_source_s_session(ground: Ground) -> None:
    """The rules belong to the source's session, which keeps them also when it is opened again."""
    ground.write("a.py", f"x = 1\n{REST}")
    async with ground.session([[EDIT], [Say("One.")]], approval="on_write") as s:
        asked = await s.carry_out(ops.SubmitPrompt(text="First"), ev.ApprovalRequested)
        s.submit(ops.AnswerApproval(call_id=asked.request.call_id, decision=Allowed(scope="session")))
        await s.rx.expect(ev.TurnEnded)
    forked = await fork(ground, s.id)
    for session_id, is_asked in ((forked, True), (forked, True), (s.id, False)):
        async with ground.session([[AGAIN], [Say("Two.")]], resume=session_id) as again:
            again.submit(ops.SubmitPrompt(text="Next"))
            event = await again.rx.expect(ev.ApprovalRequested if is_asked else ev.ChangesRecorded)
            if isinstance(event, ev.ApprovalRequested):
                again.submit(ops.AnswerApproval(call_id=event.request.call_id, decision=Denied()))
            await again.rx.expect(ev.TurnEnded)


NOW = datetime(2026, 11, 22, tzinfo=UTC)


@pytest.fixture
def session(tmp_path: Path) -> Written:
    written = Written(tmp_path)
    written.turn(1, "hello " * 5000, TextBlock(text="hi"))
    return written


def test_a_note_is_the_next_record_and_nothing_else_happens(session: Written) -> None:
    before = session.path.read_bytes()
    file_session(session.path, ev.SessionPinned(is_pinned=True), NOW, session.blobs)
    file_session(session.path, ev.SessionRenamed(title="Mine"), NOW, session.blobs)
    assert session.path.read_bytes().startswith(before)
    events, damages = read_journal(session.path, session.blobs)
    assert damages == []
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    session_info = replay(events).session
    assert (session_info.title, session_info.is_title_given, session_info.is_pinned) == ("Mine", True, True)


def test_a_long_journal_is_numbered_on_from_its_end(session: Written) -> None:
    session.turn(2, "x" * 10_000, *[TextBlock(text=f"{n} " * 4000) for n in range(60)])
    last = read_journal(session.path, session.blobs)[0][-1].seq
    file_session(session.path, ev.SessionArchived(is_archived=True), NOW, session.blobs)
    assert read_journal(session.path, session.blobs)[0][-1].seq == last + 1


def test_a_turn_that_a_crash_left_open_is_still_open(session: Written) -> None:
    session.add(ev.PromptSubmitted(turn=2, prompt_id="p", text="go"), ev.TurnStarted(turn=2, model=MODEL))
    file_session(session.path, ev.SessionRenamed(title="Mine"), NOW, session.blobs)
    assert replay(read_journal(session.path, session.blobs)[0]).turns.is_running


def test_a_session_goes_with_everything_in_its_folder(session: Written) -> None:
    (session.path.parent / "journal.jsonl.7.torn").write_text("x")
    remove_session(session.path.parent)
    assert list(session.path.parent.parent.iterdir()) == []


def test_an_open_session_is_refused_and_stays_as_it_is(session: Written) -> None:
    before = session.path.read_bytes()
    lock = SessionLock(session.path.parent)
    with pytest.raises(SessionBusyError):
        file_session(session.path, ev.SessionPinned(is_pinned=True), NOW, session.blobs)
    with pytest.raises(SessionBusyError):
        remove_session(session.path.parent)
    lock.release()
    assert session.path.read_bytes() == before


def test_a_session_that_cannot_be_locked_is_still_there_and_it_is_said(session: Written) -> None:
    (session.path.parent / "lock").mkdir()
    with pytest.raises(StorageError, match="cannot be opened for writing"):
        remove_session(session.path.parent)
    assert session.path.exists()
    assert not is_locked(session.path.parent)


def test_a_crash_in_between_leaves_nothing_to_see_and_the_rest_goes_with_the_next_tidying(
    session: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = session.path.parent

    def killed(_path: object, **_options: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", killed)
        with pytest.raises(KeyboardInterrupt):
            remove_session(folder)
    assert not folder.exists()
    assert len(list(folder.parent.iterdir())) == 1
    assert empty_trash(folder.parent) == 1
    assert list(folder.parent.iterdir()) == []


def test_a_session_that_cannot_be_removed_is_still_there(session: Written, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_self: Path, _target: Path) -> Path:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "rename", refused)
    with pytest.raises(StorageError):
        remove_session(session.path.parent)
    assert session.path.exists()


def test_the_size_counts_the_journal_and_what_only_this_session_needs(session: Written) -> None:
    size = session_use(session.path.parent.parent, session.id, session.blobs)
    assert size.journal_bytes == session.path.stat().st_size
    assert size.own_bytes > 0
    shutil.copytree(session.path.parent, session.path.parent.parent / "20261121-120000-zzzzzz")
    assert session_use(session.path.parent.parent, session.id, session.blobs).own_bytes == 0
