"""The session list is a cache of the journals: quick when it is right, and made anew when it is not."""

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from desktop_agent.core import events as ev
from desktop_agent.core import ops
from desktop_agent.core.errors import SessionNotFoundError, UsageError
from desktop_agent.core.ids import SessionId
from desktop_agent.core.providers.scripted import Hang, Say
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.catalog import Catalog
from tests.harness import Ground, ImpatientClock

MONDAY = datetime(2026, 11, 16, 9, 0, tzinfo=UTC)


class Calendar(ImpatientClock):
    """A clock that somebody sets."""

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
def catalog(ground: Ground) -> Catalog:
    return Catalog(ground.paths.sessions, Blobs(ground.paths.blobs))


async def use(ground: Ground, prompt: str, resume: SessionId | None = None) -> SessionId:
    """Ask something in a new session, or one there is, and close it."""
    async with ground.session([[Say("ok")]], resume=resume) as s:
        await s.prompt(prompt)
        return s.id


def summary_file(catalog: Catalog, session_id: SessionId) -> Path:
    return catalog.session_folder(session_id) / "summary.json"


def test_without_sessions_the_list_is_empty(catalog: Catalog, tmp_path: Path) -> None:
    assert (catalog.ids(), catalog.summaries(), catalog.latest(tmp_path)) == ([], [], None)


async def test_the_last_used_comes_first(ground: Ground, calendar: Calendar, catalog: Catalog) -> None:
    first = await use(ground, "one")
    calendar.today += timedelta(days=1)
    second = await use(ground, "two")
    calendar.today += timedelta(days=1)
    await use(ground, "and one more", resume=first)
    assert [item.id for item in catalog.summaries()] == [first, second]
    assert catalog.ids() == [second, first], "ids are in the order of their creation"


async def test_a_summary_says_what_the_session_is(ground: Ground, calendar: Calendar, catalog: Catalog) -> None:
    session_id = await use(ground, "Fix the page count\nand do not forget the test")
    calendar.today += timedelta(hours=3)
    await use(ground, "More", resume=session_id)
    (summary,) = catalog.summaries()
    assert summary.title.startswith("Fix the page count")
    assert "\n" not in summary.title
    assert (summary.workspace, summary.turns) == (str(ground.workspace), 2)
    assert (summary.created_at, summary.updated_at) == (MONDAY, MONDAY + timedelta(hours=3))
    assert summary.size_bytes == catalog.journal_path(session_id).stat().st_size


async def test_a_new_title_replaces_that_of_the_first_prompt(ground: Ground, catalog: Catalog) -> None:
    async with ground.session([[Say("ok")]]) as s:
        await s.prompt("a long and winding question")
        s.submit(ops.RenameSession(title="Pagination"))
        await s.rx.expect(ev.SessionRenamed)
    assert [item.title for item in catalog.summaries()] == ["Pagination"]


async def test_what_was_cut_off_while_it_ran_is_listed_as_idle(ground: Ground, catalog: Catalog) -> None:
    async with ground.session([[Hang()]]) as s:
        s.submit(ops.SubmitPrompt(text="go"))
        await s.rx.expect(ev.TurnStarted)
        shutil.copytree(catalog.session_folder(s.id), ground.paths.sessions.parent / "copy")
    folder = catalog.session_folder(s.id)
    shutil.rmtree(folder)
    (ground.paths.sessions.parent / "copy").rename(folder)
    (summary,) = catalog.summaries()
    assert (summary.state, summary.title) == ("idle", "go")


async def test_a_deleted_cache_is_made_anew(ground: Ground, catalog: Catalog) -> None:
    ids = [await use(ground, "one"), await use(ground, "two")]
    before = catalog.summaries()
    for session_id in ids:
        summary_file(catalog, session_id).unlink()
    assert catalog.summaries() == before
    assert all(summary_file(catalog, session_id).is_file() for session_id in ids)


@pytest.mark.parametrize("rubbish", [b"", b"{", b"\xff\xfe", b"[]", b"null", b'{"id": 3}', b"[" * 100_000])
async def test_a_damaged_cache_is_made_anew(ground: Ground, catalog: Catalog, rubbish: bytes) -> None:
    session_id = await use(ground, "one")
    before = catalog.summaries()
    summary_file(catalog, session_id).write_bytes(rubbish)
    assert catalog.summaries() == before
    assert summary_file(catalog, session_id).read_bytes() != rubbish


async def test_a_cache_older_than_its_journal_is_not_believed(ground: Ground, catalog: Catalog) -> None:
    session_id = await use(ground, "one")
    old = summary_file(catalog, session_id).read_bytes()
    await use(ground, "two", resume=session_id)
    summary_file(catalog, session_id).write_bytes(old)
    assert [item.turns for item in catalog.summaries()] == [2]


async def test_the_cache_of_another_session_is_not_believed(ground: Ground, catalog: Catalog) -> None:
    one, two = await use(ground, "one"), await use(ground, "two")
    shutil.copy(summary_file(catalog, one), summary_file(catalog, two))
    assert {item.title for item in catalog.summaries()} == {"one", "two"}


async def test_a_current_cache_spares_reading_the_journal(ground: Ground, catalog: Catalog) -> None:
    session_id = await use(ground, "one")
    (before,) = catalog.summaries()
    journal = catalog.journal_path(session_id)
    journal.write_bytes(b"\x00" * journal.stat().st_size)
    assert catalog.summaries() == [before]


async def test_a_journal_that_cannot_be_read_is_left_out_and_the_others_are_listed(
    ground: Ground, catalog: Catalog
) -> None:
    lost, kept = await use(ground, "one"), await use(ground, "two")
    catalog.journal_path(lost).write_bytes(b"")
    assert [item.id for item in catalog.summaries()] == [kept]


async def test_what_else_lies_among_the_sessions_is_no_session(ground: Ground, catalog: Catalog) -> None:
    session_id = await use(ground, "one")
    (ground.paths.sessions / "notes.txt").write_text("mine")
    (ground.paths.sessions / "20261116-090000-aaaaaa").mkdir()
    shutil.copytree(catalog.session_folder(session_id), ground.paths.sessions / "copy of a session")
    assert catalog.ids() == [session_id]


@pytest.mark.parametrize("name", ["..", "../../etc", "/etc/passwd", "", "20261116-090000-AAAAAA", "a\x00b"])
def test_a_name_that_is_no_id_never_becomes_a_path(catalog: Catalog, name: str) -> None:
    with pytest.raises(SessionNotFoundError):
        catalog.session_folder(name)
    with pytest.raises(SessionNotFoundError):
        catalog.find(name)


async def test_a_session_is_found_by_any_clear_part_of_its_ends(ground: Ground, catalog: Catalog) -> None:
    one, two = await use(ground, "one"), await use(ground, "two")
    assert catalog.find(one) == one
    assert catalog.find(two[-6:]) == two
    with pytest.raises(UsageError, match="fits several sessions"):
        catalog.find("20")
    with pytest.raises(SessionNotFoundError, match="no session"):
        catalog.find("nothing-like-it")


async def test_the_latest_of_a_folder_is_the_last_used_there(
    ground: Ground, calendar: Calendar, catalog: Catalog, tmp_path: Path
) -> None:
    here = await use(ground, "here")
    calendar.today += timedelta(days=1)
    ground.workspace = tmp_path / "elsewhere"
    ground.workspace.mkdir()
    there = await use(ground, "there")
    assert catalog.latest(tmp_path / "ground" / "workspace") == here
    assert catalog.latest(tmp_path / "elsewhere" / ".." / "elsewhere") == there
    assert catalog.latest(tmp_path) is None


async def test_a_prompt_that_has_no_utf8_form_does_not_take_the_list_away(ground: Ground, catalog: Catalog) -> None:
    odd, plain = await use(ground, "fix caf\udce9.py"), await use(ground, "plain")
    assert {item.id: item.title for item in catalog.summaries()} == {odd: "fix caf\udce9.py", plain: "plain"}
