"""The session list is a cache of the journals: fast if valid, rebuilt if not."""

import json
import os
import shutil
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from msgspec.json import Decoder
from msgspec.structs import replace

from desktop_agent.core.base.errors import SessionNotFoundError, UsageError
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import (
    Allowed,
    ApprovalRequest,
    DayAllowance,
    Denied,
    ModelRef,
    SessionSummary,
    Spending,
    Usage,
)
from desktop_agent.core.providers.scripted import Hang, Say
from desktop_agent.core.settings.live_settings import LiveSettings
from desktop_agent.core.store import digest
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.digest import JournalCache, JournalSummary, Noted
from desktop_agent.core.store.journal.journal import Journal
from desktop_agent.core.store.journal.journal_reader import read_journal
from desktop_agent.core.store.journal.journal_scan import JournalMark
from desktop_agent.core.store.session_catalog import SessionCatalog
from desktop_agent.core.transcript import replay
from desktop_agent.headless.single_call import CallOptions, SingleCall
from tests.harness import Ground, ImpatientClock
from tests.journals import AT, asked_to_spend

MODEL = ModelRef(provider="demo", model="demo")
MONDAY = datetime(2026, 11, 16, 9, 0, tzinfo=UTC)


class Calendar(ImpatientClock):
    def __init__(self) -> None:
        super().__init__()
        self.today = MONDAY

    def now(self) -> datetime:
        return self.today


@pytest.fixture
def calendar(ground: Ground) -> Calendar:
    calendar = Calendar()
    ground.clock = calendar
    return calendar


@pytest.fixture
def catalog(ground: Ground) -> SessionCatalog:
    return fresh(ground)


def fresh(ground: Ground) -> SessionCatalog:
    return SessionCatalog(ground.paths.sessions, Blobs(ground.paths.blobs), ground.paths.cache)


async def use(ground: Ground, prompt: str, resume: SessionId | None = None) -> SessionId:
    async with ground.session([[Say("ok")]], resume=resume) as s:
        await s.prompt(prompt)
        return s.id


def cache_file(ground: Ground) -> Path:
    return ground.paths.cache / "sessions.sqlite3"


def cached(ground: Ground) -> set[SessionId]:
    with closing(sqlite3.connect(cache_file(ground))) as connection:
        return {row[0] for row in connection.execute("SELECT id FROM session")}


def append(catalog: SessionCatalog, session_id: SessionId, *events: ev.KnownEvent) -> None:
    path = catalog.journal_path(session_id)
    journal, _ = Journal.open(path, Blobs(path.parents[2] / "blobs"))
    for event in events:
        journal.append(event.stamped(900, MONDAY + timedelta(days=9)), is_durable=False)
    journal.close()


def test_without_sessions_the_list_is_empty(catalog: SessionCatalog, tmp_path: Path) -> None:
    assert (catalog.ids(), catalog.summaries(), catalog.latest(tmp_path)) == ([], [], None)


async def test_the_last_used_comes_first(ground: Ground, calendar: Calendar, catalog: SessionCatalog) -> None:
    first = await use(ground, "one")
    calendar.today += timedelta(days=1)
    second = await use(ground, "two")
    calendar.today += timedelta(days=1)
    await use(ground, "and one more", resume=first)
    assert [item.id for item in catalog.summaries()] == [first, second]
    assert catalog.ids() == [second, first], "ids are in the order of their creation"


async def test_a_summary_says_what_the_session_is(ground: Ground, calendar: Calendar, catalog: SessionCatalog) -> None:
    session_id = await use(ground, "Fix the page count\nand do not forget the test")
    calendar.today += timedelta(hours=3)
    await use(ground, "More", resume=session_id)
    (summary,) = catalog.summaries()
    assert summary.title.startswith("Fix the page count")
    assert "\n" not in summary.title
    assert (summary.workspace, summary.turns) == (str(ground.workspace), 2)
    assert (summary.created_at, summary.updated_at) == (MONDAY, MONDAY + timedelta(hours=3))
    assert summary.size_bytes == catalog.journal_path(session_id).stat().st_size


async def test_a_new_title_replaces_that_of_the_first_prompt(ground: Ground, catalog: SessionCatalog) -> None:
    async with ground.session([[Say("ok")]]) as s:
        await s.prompt("a long and winding question")
        await s.carry_out(ops.RenameSession(title="Pagination"), ev.SessionRenamed)
    assert [item.title for item in catalog.summaries()] == ["Pagination"]


async def test_what_was_cut_off_while_it_ran_is_listed_as_idle(ground: Ground, catalog: SessionCatalog) -> None:
    async with ground.session([[Hang()]]) as s:
        await s.carry_out(ops.SubmitPrompt(text="go"), ev.TurnStarted)
        shutil.copytree(catalog.session_folder(s.id), ground.paths.sessions.parent / "copy")
    folder = catalog.session_folder(s.id)
    shutil.rmtree(folder)
    (ground.paths.sessions.parent / "copy").rename(folder)
    (summary,) = catalog.summaries()
    assert (summary.state, summary.title) == ("idle", "go")


def request_of(call_id: str) -> ApprovalRequest:
    return ApprovalRequest(
        call_id=call_id,
        tool="run_terminal_cmd",
        title="Run this command?",
        reason="It asks.",
        arguments_digest="0" * 64,
    )


def state_of(ground: Ground, session_id: SessionId) -> str:
    summary = fresh(ground).summary(session_id)
    assert summary is not None
    return summary.state


async def test_a_question_that_waits_is_listed_until_it_is_answered(ground: Ground, catalog: SessionCatalog) -> None:
    session_id = await use(ground, "Fix it")
    asked = [ev.ApprovalRequested(turn=2, request=request_of(call_id)) for call_id in ("call-1", "call-2")]
    append(catalog, session_id, ev.TurnStarted(turn=2, model=MODEL), *asked)
    assert state_of(ground, session_id) == "waiting"
    append(catalog, session_id, ev.ApprovalResolved(turn=2, call_id="call-1", decision=Denied()))
    assert state_of(ground, session_id) == "waiting"
    append(catalog, session_id, ev.ApprovalResolved(turn=2, call_id="call-2", decision=Denied()))
    assert state_of(ground, session_id) == "idle"
    append(catalog, session_id, asked[0], ev.TurnEnded(turn=2, reason="interrupted", requests=1, duration_s=1.0))
    assert state_of(ground, session_id) == "idle"


async def test_how_the_last_turn_failed_is_listed_until_the_next_one(ground: Ground, catalog: SessionCatalog) -> None:
    session_id = await use(ground, "Fix it")

    def failure() -> str:
        found = catalog.summary(session_id)  # it continues from its last state
        assert found is not None
        assert found == fresh(ground).summary(session_id)
        return found.failure

    refused = ev.Notice(level="error", code="authentication", title="The key was refused.", turn=2)
    ended = ev.TurnEnded(turn=2, reason="provider_error", requests=0, duration_s=1.0)
    assert not failure()
    append(catalog, session_id, ev.TurnStarted(turn=2, model=MODEL), refused, ended)
    assert failure() == "authentication"
    append(catalog, session_id, ev.SessionRenamed(title='An "error"'))
    append(catalog, session_id, ev.Notice(level="error", code="settings", title="They cannot be read."))
    assert failure() == "authentication"
    append(catalog, session_id, ev.TurnStarted(turn=3, model=MODEL))
    assert not failure()
    append(catalog, session_id, replace(refused, turn=3), replace(ended, turn=3, reason="completed"))
    assert not failure()
    append(catalog, session_id, ev.TurnStarted(turn=4, model=MODEL), replace(ended, turn=4))
    assert failure() == "error"


def rubbish(content: bytes) -> Callable[[Path], object]:
    return lambda cache: cache.write_bytes(content)


def statement(sql: str) -> Callable[[Path], object]:
    def execute(cache: Path) -> None:
        with closing(sqlite3.connect(cache)) as connection, connection:
            connection.execute(sql)

    return execute


@pytest.mark.parametrize(
    "spoil",
    [
        Path.unlink,
        *map(rubbish, (b"", b"no database", b"SQLite format 3\0" + bytes(4096))),
        statement("PRAGMA user_version = 99"),
        statement("UPDATE session SET summary = '[1, 2]'"),
    ],
    ids=["deleted", "empty", "text", "damaged", "another version", "rows that make no sense"],
)
async def test_a_cache_of_no_use_is_made_anew(
    ground: Ground, catalog: SessionCatalog, spoil: Callable[[Path], object]
) -> None:
    session_ids = {await use(ground, prompt) for prompt in ("one", "two")}
    before = catalog.summaries()
    spoil(cache_file(ground))
    assert fresh(ground).summaries() == before
    assert cached(ground) == session_ids


async def test_a_cache_that_cannot_be_written_only_costs_time(ground: Ground) -> None:
    session_id = await use(ground, "one")
    shutil.rmtree(ground.paths.cache)
    ground.paths.cache.write_text("a file where the folder should be")
    catalog = fresh(ground)
    assert [item.title for item in catalog.summaries()] == ["one"]
    forbid_reading(catalog, session_id)
    assert [item.title for item in catalog.summaries()] == ["one"], "what was seen is remembered"


async def test_who_writes_the_cache_keeps_nobody_from_listing(ground: Ground, catalog: SessionCatalog) -> None:
    await use(ground, "one")
    catalog.summaries()
    await use(ground, "two")
    with closing(sqlite3.connect(cache_file(ground), isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        assert {item.title for item in fresh(ground).summaries()} == {"one", "two"}


async def test_what_was_added_to_a_journal_is_seen(ground: Ground, catalog: SessionCatalog) -> None:
    session_id = await use(ground, "one")
    assert [item.turns for item in catalog.summaries()] == [1]
    await use(ground, "two", resume=session_id)
    assert [item.turns for item in catalog.summaries()] == [2]
    assert catalog.summary(session_id) == catalog.summaries()[0]


async def test_only_what_is_new_in_a_journal_is_read(ground: Ground, catalog: SessionCatalog) -> None:
    session_id = await use(ground, "one")
    await use(ground, "two", resume=session_id)
    (before,) = catalog.summaries()
    path = catalog.journal_path(session_id)
    content = path.read_bytes()
    spoilt = content.replace(b"prompt_submitted", b"prompt_subm1tted").replace(b"turn_started", b"turn_st4rted")
    append(catalog, session_id, ev.SessionRenamed(title="Numbers"))
    path.write_bytes(spoilt + path.read_bytes()[len(content) :])
    (after,) = catalog.summaries()
    assert (after.title, after.turns, after.usage) == ("Numbers", 2, before.usage)
    cache_file(ground).unlink()
    assert [item.turns for item in catalog.summaries()] == [0], "a rebuild reads everything"


async def test_a_rewritten_journal_is_read_from_its_beginning(ground: Ground, catalog: SessionCatalog) -> None:
    one, two = await use(ground, "one"), await use(ground, "two and more of it, so that it is longer")
    catalog.summaries()
    shutil.copy(catalog.journal_path(two), catalog.journal_path(one))
    assert {item.title for item in catalog.summaries()} == {"two and more of it, so that it is longer"}


async def test_a_line_without_its_end_counts_when_it_has_one(ground: Ground, catalog: SessionCatalog) -> None:
    session_id = await use(ground, "one")
    path = catalog.journal_path(session_id)
    append(catalog, session_id, ev.SessionRenamed(title="Later"))
    whole = path.read_bytes()
    path.write_bytes(whole[:-10])
    assert [item.title for item in catalog.summaries()] == ["one"]
    path.write_bytes(whole)
    assert [item.title for item in catalog.summaries()] == ["Later"]


async def test_the_current_cache_spares_reading_the_journals(ground: Ground, catalog: SessionCatalog) -> None:
    session_id = await use(ground, "one")
    (before,) = catalog.summaries()
    forbid_reading(catalog, session_id)
    assert fresh(ground).summaries() == [before]


def forbid_reading(catalog: SessionCatalog, session_id: SessionId) -> None:
    """Change the journal while its size and date stay the same."""
    path = catalog.journal_path(session_id)
    status = path.stat()
    path.write_bytes(b"x" * status.st_size)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


async def test_a_summary_says_how_the_session_is_filed(
    ground: Ground, catalog: SessionCatalog, calendar: Calendar
) -> None:
    session_id = await use(ground, "one")
    append(
        catalog,
        session_id,
        ev.SessionForked(source="20261115-090000-aaaaaa", title="Before"),
        ev.SessionRenamed(title="Mine"),
        ev.SessionPinned(is_pinned=True),
        ev.SessionArchived(is_archived=True),
    )
    (summary,) = catalog.summaries()
    assert (summary.title, summary.is_title_given) == ("Mine", True)
    assert (summary.is_pinned, summary.is_archived, summary.forked_from) == (True, True, "20261115-090000-aaaaaa")
    append(catalog, session_id, ev.SessionRenamed(title="Its own", is_generated=True))
    assert [(item.title, item.is_title_given) for item in catalog.summaries()] == [("Its own", False)]


async def test_a_call_by_hand_is_listed_when_more_becomes_of_it(ground: Ground, catalog: SessionCatalog) -> None:
    options = CallOptions(tool="list_files", arguments={}, workspace=ground.workspace)
    session_id = (await SingleCall(ground.paths, LiveSettings(ground.settings), options, os.environ).run()).session_id
    (summary,) = catalog.summaries()
    assert (summary.purpose, summary.turns, summary.is_listed) == ("call", 1, False)
    assert fresh(ground).summaries() == [summary], "the cache says the same"
    assert catalog.latest(ground.workspace) is None
    append(catalog, session_id, ev.SessionPinned(is_pinned=True))
    assert [item.is_listed for item in catalog.summaries()] == [True]
    append(catalog, session_id, ev.SessionPinned(is_pinned=False))
    await use(ground, "go on", resume=session_id)
    assert [(item.turns, item.is_listed) for item in catalog.summaries()] == [(2, True)]
    assert catalog.latest(ground.workspace) == session_id


async def test_filing_a_session_is_not_using_it(ground: Ground, catalog: SessionCatalog, calendar: Calendar) -> None:
    first = await use(ground, "first")
    calendar.today += timedelta(hours=1)
    second = await use(ground, "second")
    append(catalog, first, ev.SessionPinned(is_pinned=True), ev.SessionRenamed(title="1st"))
    assert [item.id for item in catalog.summaries()] == [second, first]
    assert catalog.summaries()[1].active_at == MONDAY


OPUS = ModelRef(provider="anthropic", model="claude-opus-5-5")
CHEAP = ModelRef(provider="ollama", model="qwen", base_url="http://127.0.0.1:1/v1")
APPENDED_ON = (MONDAY + timedelta(days=9)).date()


def asked(model: ModelRef | None, cost: float | None, tokens: int = 10) -> ev.UsageReported:
    return ev.UsageReported(turn=1, usage=Usage(input_tokens=tokens, cost_usd=cost, web_searches=1), model=model)


async def test_what_a_session_spent_is_known_by_day_and_model(ground: Ground, catalog: SessionCatalog) -> None:
    ground.clock = Calendar()
    session_id = await use(ground, "one")
    append(catalog, session_id, asked(OPUS, 0.1), asked(CHEAP, 0.0), asked(OPUS, 0.2), asked(OPUS, None))
    (summary,) = catalog.summaries()
    first, dear, cheap = summary.spending
    assert (first.day, first.provider, first.requests) == (MONDAY.date(), "scripted", 1)
    assert dear == Spending(
        day=APPENDED_ON,
        provider="anthropic",
        model="claude-opus-5-5",
        requests=3,
        usage=Usage(input_tokens=30, cost_usd=0.3, unpriced_tokens=10, web_searches=3),
    )
    assert (cheap.model, cheap.usage.cost_usd) == ("qwen", 0.0)


async def test_what_is_spent_later_is_added_to_what_the_cache_knows(ground: Ground, catalog: SessionCatalog) -> None:
    session_id = await use(ground, "one")
    append(catalog, session_id, asked(OPUS, 0.1))
    catalog.summaries()
    append(catalog, session_id, asked(OPUS, 0.2), asked(CHEAP, None))
    (summary,) = fresh(ground).summaries()
    assert [(one.model, one.usage.cost_usd) for one in summary.spending if one.provider != "scripted"] == [
        ("claude-opus-5-5", 0.3),
        ("qwen", None),
    ]
    cache_file(ground).unlink()
    assert fresh(ground).summaries() == [summary]


async def test_a_request_of_which_no_model_is_recorded_has_tokens_and_no_place_in_the_costs(
    ground: Ground, catalog: SessionCatalog
) -> None:
    session_id = await use(ground, "one")
    (before,) = catalog.summaries()
    append(catalog, session_id, asked(None, None, tokens=77))
    (after,) = catalog.summaries()
    assert after.spending == before.spending
    assert after.usage.input_tokens == before.usage.input_tokens + 77


async def test_a_fork_has_paid_nothing_for_what_it_copied(ground: Ground, catalog: SessionCatalog) -> None:
    session_id = await use(ground, "one")
    append(catalog, session_id, asked(OPUS, 0.5))
    (before,) = catalog.summaries()
    append(catalog, session_id, ev.SessionForked(source="other", title="t"), asked(OPUS, 0.25))
    (after,) = fresh(ground).summaries()
    assert [(one.model, one.requests, one.usage.cost_usd) for one in after.spending] == [("claude-opus-5-5", 1, 0.25)]
    assert (after.usage.cost_usd, after.usage.is_cost_partial) == (0.25, False)
    assert after.usage.input_tokens == before.usage.input_tokens + 10
    assert (
        after.usage == replay(read_journal(catalog.journal_path(session_id), Blobs(ground.paths.blobs))[0]).turns.usage
    )


async def test_an_answer_to_spend_more_on_a_day_is_known_whenever_the_list_was_looked_at(
    ground: Ground, catalog: SessionCatalog
) -> None:
    session_id = await use(ground, "one")
    append(catalog, session_id, asked_to_spend(1, "q1", limit="day_usd"))
    (waiting,) = catalog.summaries()
    asks = DayAllowance(day=AT.date(), until_usd=2.0, call_id="q1")
    assert (waiting.allowance, waiting.asked_allowance) == (None, asks)
    append(catalog, session_id, ev.ApprovalResolved(turn=1, call_id="q1", decision=Allowed()))
    (answered,) = fresh(ground).summaries()
    assert (answered.allowance, answered.asked_allowance) == (replace(asks, call_id=""), None)
    append(catalog, session_id, asked_to_spend(2, "q2", 9.0, limit="day_usd"))
    append(catalog, session_id, ev.ApprovalResolved(turn=2, call_id="q2", decision=Denied()))
    assert fresh(ground).summaries()[0].allowance == answered.allowance, "a no allows nothing, and takes nothing back"
    append(catalog, session_id, ev.SessionForked(source="other", title="t"))
    assert fresh(ground).summaries()[0].allowance is None, "the other session's"


async def test_a_title_that_no_encoding_has_is_kept_in_the_cache(ground: Ground, catalog: SessionCatalog) -> None:
    session_id = await use(ground, "one")
    append(catalog, session_id, ev.SessionRenamed(title="half \ud83d of a sign"))
    (before,) = catalog.summaries()
    assert "\ud83d" in before.title
    assert cached(ground) == {session_id}
    assert fresh(ground).summaries() == [before]


async def test_the_summary_is_what_the_fold_of_all_events_says(ground: Ground, catalog: SessionCatalog) -> None:
    session_id = await use(ground, "one")
    await use(ground, "two", resume=session_id)
    usage = Usage(input_tokens=5, output_tokens=7, cache_read_tokens=11, cache_write_tokens=13)
    append(catalog, session_id, ev.UsageReported(turn=1, usage=usage), ev.UsageReported(turn=1, usage=usage))
    transcript = replay(read_journal(catalog.journal_path(session_id), Blobs(ground.paths.blobs))[0])
    (summary,) = catalog.summaries()
    assert (summary.title, summary.workspace) == (transcript.session.title, transcript.session.workspace)
    assert (summary.turns, summary.usage) == (transcript.turn, transcript.turns.usage)
    assert (summary.created_at, summary.updated_at) == (transcript.session.opened_at, transcript.session.updated_at)


async def test_lines_that_others_wrote_are_read_like_ours(ground: Ground, catalog: SessionCatalog) -> None:
    session_id = await use(ground, "one")
    (before,) = catalog.summaries()
    path = catalog.journal_path(session_id)
    lines = [json.loads(line) for line in path.read_bytes().splitlines()]
    path.write_text("".join(json.dumps(dict(reversed(line.items()))) + "\n" for line in lines))
    assert catalog.summaries() == [replace(before, size_bytes=path.stat().st_size)]


@pytest.mark.parametrize(
    "line",
    [
        b"\xff\xfe\n",
        b"[" * 100_000 + b"\n",
        b'{"v":1,"seq":1,"at":"2026-99-99T99:99:99Z","type":"turn_started","turn":' + b"9" * 5_000 + b"}\n",
        b'{"v":1,"seq":1,"at":"x","type":["session_opened"]}\n',
        b'{"v":1,"seq":1,"at":"2026-11-16T09:00:00Z","type":"usage_reported","usage":{"input_tokens":-1}}\n',
        b'{"v":1,"seq":1,"at":"2026-11-16T09:00:00Z","type":"session_renamed","title":7}\n',
        b"x" * 20_000_000 + b"\n",
    ],
    ids=["no text", "deep", "large numbers", "odd type", "odd usage", "odd title", "huge"],
)
async def test_a_hostile_line_costs_no_more_than_itself(ground: Ground, catalog: SessionCatalog, line: bytes) -> None:
    session_id = await use(ground, "one")
    (before,) = catalog.summaries()
    path = catalog.journal_path(session_id)
    path.write_bytes(line + path.read_bytes() + line)
    assert [(item.title, item.usage) for item in catalog.summaries()] == [("one", before.usage)]
    append(catalog, session_id, ev.SessionRenamed(title="Still here"))
    assert [item.title for item in catalog.summaries()] == ["Still here"]


async def test_the_cache_of_earlier_versions_is_removed(ground: Ground, catalog: SessionCatalog) -> None:
    session_id = await use(ground, "one")
    cache_file(ground).unlink()
    earlier = catalog.session_folder(session_id) / "summary.json"
    earlier.write_bytes(b"{}")
    catalog.summaries()
    assert not earlier.exists()


async def test_a_deleted_session_is_forgotten(ground: Ground, catalog: SessionCatalog) -> None:
    kept, lost = await use(ground, "kept"), await use(ground, "lost")
    catalog.summaries()
    shutil.rmtree(catalog.session_folder(lost))
    assert cached(ground) == {kept, lost}
    assert [item.id for item in catalog.summaries()] == [kept]
    assert catalog.summary(lost) is None
    assert cached(ground) == {kept}


async def test_a_journal_that_cannot_be_read_is_left_out(ground: Ground, catalog: SessionCatalog) -> None:
    kept, lost = await use(ground, "kept"), await use(ground, "lost")
    catalog.journal_path(lost).write_bytes(b"")
    assert [item.id for item in catalog.summaries()] == [kept]
    assert cached(ground) == {kept, lost}


async def test_many_processes_may_list_at_once(ground: Ground) -> None:
    ids = [await use(ground, f"prompt {number}") for number in range(3)]
    cache_file(ground).unlink()
    with ThreadPoolExecutor(8) as pool:
        listed = list(pool.map(SessionCatalog.summaries, [fresh(ground) for _ in range(40)]))
    assert all([item.id for item in summaries] == ids[::-1] for summaries in listed)


async def test_what_else_lies_among_the_sessions_is_no_session(ground: Ground, catalog: SessionCatalog) -> None:
    session_id = await use(ground, "one")
    (ground.paths.sessions / "notes.txt").write_text("mine")
    (ground.paths.sessions / "20261116-090000-aaaaaa").mkdir()
    shutil.copytree(catalog.session_folder(session_id), ground.paths.sessions / "copy of a session")
    assert catalog.ids() == [session_id]


@pytest.mark.parametrize("name", ["..", "../../etc", "/etc/passwd", "", "20261116-090000-AAAAAA", "a\x00b"])
def test_a_name_that_is_no_id_never_becomes_a_path(catalog: SessionCatalog, name: str) -> None:
    with pytest.raises(SessionNotFoundError):
        catalog.session_folder(name)
    with pytest.raises(SessionNotFoundError):
        catalog.find(name)


async def test_a_session_is_found_by_any_clear_part_of_its_ends(ground: Ground, catalog: SessionCatalog) -> None:
    one, two = await use(ground, "one"), await use(ground, "two")
    assert catalog.find(one) == one
    assert catalog.find(two[-6:]) == two
    with pytest.raises(UsageError, match="fits several sessions"):
        catalog.find("20")
    with pytest.raises(SessionNotFoundError, match="no session"):
        catalog.find("nothing-like-it")


async def test_the_latest_of_a_folder_is_the_last_used_there(
    ground: Ground, calendar: Calendar, catalog: SessionCatalog, tmp_path: Path
) -> None:
    here = await use(ground, "here")
    calendar.today += timedelta(days=1)
    ground.workspace = tmp_path / "elsewhere"
    ground.workspace.mkdir()
    there = await use(ground, "there")
    assert catalog.latest(tmp_path / "ground" / "workspace") == here
    assert catalog.latest(tmp_path / "elsewhere" / ".." / "elsewhere") == there
    assert catalog.latest(tmp_path) is None


async def test_a_prompt_that_has_no_utf8_form_does_not_take_the_list_away(
    ground: Ground, catalog: SessionCatalog
) -> None:
    odd, plain = await use(ground, "fix caf\udce9.py"), await use(ground, "plain")
    assert {item.id: item.title for item in catalog.summaries()} == {odd: "fix caf\udce9.py", plain: "plain"}


ONE, TWO = "20261116-090001-aaaaaa", "20261116-090002-aaaaaa"


def seen(size: int) -> JournalSummary:
    return Noted(JournalMark((size, 1), size, b"witness"), None)


@pytest.mark.parametrize("name", [ONE, TWO])
def test_what_another_thread_keeps_while_something_is_written_is_kept_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: SessionId
) -> None:
    cache = JournalCache(tmp_path / "sessions.sqlite3", 4, Decoder(SessionSummary | None))
    row = digest._row  # pyright: ignore[reportPrivateUsage] - the moment between two sessions

    def interrupted(session_id: SessionId, glance: JournalSummary) -> tuple[str, int, int, int, bytes, str]:
        monkeypatch.setattr(digest, "_row", row)
        other = threading.Thread(target=cache.keep, args=({name: seen(2)},))
        other.start()
        other.join()
        return row(session_id, glance)

    monkeypatch.setattr(digest, "_row", interrupted)
    cache.keep({ONE: seen(1)})
    assert cache.all().keys() == {ONE, name}
