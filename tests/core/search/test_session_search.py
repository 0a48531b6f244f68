"""Searches by people are understood, and no query is an error."""

import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import timedelta
from itertools import count
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import Allowed, BlobRef, ChangeSelection, SearchQuery, ToolResult
from desktop_agent.core.search import session_search
from desktop_agent.core.search.session_index_process import update_beside
from desktop_agent.core.search.session_search import SearchDatabase, SessionSearch, parse_question, snippet_of
from tests.core.search.conftest import MONDAY, Library, call, change, prompt, reply, result


def test_prompts_replies_commands_outputs_changes_and_titles_are_found(library: Library) -> None:
    before, after = library.image(b"one\nkept apple\n"), library.image(b"two apple\nkept apple\n")
    library.session(
        1,
        ev.Notice(level="info", code=ev.IMPORTED_WORDS, title="On another branch", detail="Eat an apple a day."),
        ev.Notice(level="info", code="retrying", title="No apple today", detail="apple"),
        prompt("Where is the apple?"),
        reply("The apple is in the garden."),
        call("c1", "run_terminal_cmd", command="grep apple garden.txt"),
        result("c1", "garden.txt: an apple"),
        call("c2", "edit_file", path="garden.txt"),
        ev.ChangesRecorded(turn=1, call_id="c2", changes=(change("garden.txt", before, after),)),
        ev.SessionRenamed(title="Apples"),
    )
    assert library.found("apple ") == [
        ("change", "apple"),
        ("output", "apple"),
        ("command", "apple"),
        ("reply", "apple"),
        ("prompt", "apple"),
        ("prompt", "apple"),
    ]
    assert library.found("apple") == [("title", "Apples"), *library.found("apple ")]


def test_the_plan_is_found_as_the_agent_wrote_it_and_as_the_user_edited_it(library: Library) -> None:
    library.session(1, call("c1", "write_plan", plan="- [ ] plant an apple"), ev.PlanEdited(text="- [ ] plant a pear"))
    assert [*library.found("plant apple "), *library.found("plant pear ")] == [("reply", "plant"), ("prompt", "plant")]


def test_a_hit_says_where_to_go(library: Library) -> None:
    session_id = library.session(1, prompt("go"), call("c1", "run_terminal_cmd", command="make all"))
    (hit,) = library.ask("make")
    assert (hit.session_id, hit.seq, hit.turn, hit.call_id, hit.tool) == (session_id, 3, 1, "c1", "run_terminal_cmd")
    assert hit.at == MONDAY + timedelta(minutes=3)


def test_of_a_change_the_lines_that_went_and_came_are_found(library: Library) -> None:
    before, after = library.image(b"same\nold pear\n"), library.image(b"same\nnew plum\n")
    library.session(1, ev.ChangesRecorded(turn=1, call_id="", changes=(change("src/fruit.py", before, after),)))
    assert [hit.file for hit in library.ask("pear")] == ["src/fruit.py"]
    assert library.found("plum") == [("change", "plum")]
    assert library.found("same") == []
    assert library.found("fruit.py") == [("change", "fruit.py")]


def test_what_was_moved_to_a_blob_is_found(library: Library) -> None:
    whole = "many lines\n" * 2_000 + "the needle\n"
    blob = library.blobs.put_ref(whole.encode(), "text/plain")
    finished = ev.ToolCallFinished(
        turn=1,
        call_id="c1",
        state="completed",
        result=ToolResult(content="cut", output=BlobRef(blob=blob.blob, size=blob.size, media_type=blob.media_type)),
        duration_s=0.1,
    )
    library.session(1, prompt("long " * 5_000 + "haystack"), finished)
    assert library.found("needle") == [("output", "needle")]
    assert library.found("haystack") == [("prompt", "haystack")]


def test_of_an_output_is_found_what_a_terminal_shows_of_it(library: Library) -> None:
    printed = (
        b"ghost\rshown\n\x1b[31mre\x1b[0mddish\nwrong\x1b[2K\rright\n\x1b]0;caption\x07body\nsplot\x08\x08it\n"
        b"\x1b[?1049hfleeting\x1b[?1049l\nab\x1b[8mconcealed\x1b[0m\n"
    )
    blob = library.blobs.put_ref(printed, "text/plain")
    output = BlobRef(blob=blob.blob, size=blob.size, media_type=blob.media_type)
    kept = ev.ToolCallFinished(
        turn=1, call_id="c1", state="completed", result=ToolResult(content="cut", output=output), duration_s=0.1
    )
    library.session(1, kept)
    for word in ("shown", "reddish", "right", "body", "split", "abconcealed"):
        assert library.found(word) == [("output", word)], word
    for word in ("ghost", "wrong", "caption", "splot", "fleeting"):
        assert library.found(word) == [], word


def test_what_was_undone_or_rewound_is_still_found(library: Library) -> None:
    library.session(
        1,
        prompt("plant a cherry"),
        ev.ChangesRecorded(turn=1, call_id="c", changes=(change("a.txt", None, library.image(b"cherry\n")),)),
        ev.ChangesUndone(selection=ChangeSelection(), change_ids=("1.1",), outcomes=()),
        ev.Rewound(turn=1, scope="both"),
    )
    assert library.found("cherry") == [("change", "cherry"), ("prompt", "cherry")]


def test_a_command_that_the_person_rewrote_is_found_as_it_ran(library: Library) -> None:
    decision = Allowed(edited_command="make safely")
    library.session(1, ev.ApprovalResolved(turn=1, call_id="c", decision=decision))
    assert library.found("safely") == [("command", "safely")]


def test_the_newest_comes_first_and_one_session_is_not_the_whole_answer(library: Library) -> None:
    first = library.session(1, prompt("apple"))
    second = library.session(2, *(prompt(f"apple {number}", number) for number in range(1, 30)))
    hits = library.ask("apple")
    assert [hit.session_id for hit in hits] == [second] * 8 + [first]
    assert [hit.turn for hit in hits[:2]] == [29, 28]


def test_filters_narrow_the_search(library: Library) -> None:
    here = library.session(
        1, prompt("apple"), call("c1", "grep", path="src/app.py"), result("c1", "apple"), workspace="/home/ann/\udcff"
    )
    middle = library.now
    there = library.session(2, prompt("apple"), workspace="/home/ann/b")

    def sessions(**filters: object) -> list[str]:
        return [hit.session_id for hit in library.ask("apple", **filters)]

    assert sessions() == [there, here, here]
    assert sessions(workspace="/home/ann/\udcff") == [here, here], "also a name that is no text"
    assert sessions(workspace="/nowhere") == []
    assert sessions(kind="output") == [here]
    assert sessions(tool="grep") == [here]
    assert sessions(file="app.py") == [here]
    assert sessions(file="src/ap") == [here]
    assert sessions(since=middle + timedelta(seconds=1)) == [there]
    assert sessions(until=middle + timedelta(seconds=1)) == [here, here]
    assert [hit.kind for hit in library.ask(file="src/app.py")] == ["output"], "a filter alone is a search"


def test_only_what_is_new_is_read(library: Library) -> None:
    session_id = library.session(1, prompt("apple"))
    library.search.update()
    library.write(session_id, prompt("pear", 2))
    assert library.found("pear") == [("prompt", "pear")]
    assert len(library.ask("apple")) == 1
    with closing(sqlite3.connect(library.database)) as connection:
        places = [place for (place,) in connection.execute("SELECT place FROM piece")]
    assert len(places) == len(set(places)) == 2, "no line was taken in twice"


def test_a_result_finds_its_call_in_what_was_read_before(library: Library) -> None:
    session_id = library.session(1, call("c1", "read_file", path="src/app.py"))
    library.search.update()
    library.write(session_id, result("c1", "apple"))
    (hit,) = library.ask("apple", tool="read_file", file="app.py")
    assert hit.tool == "read_file"


def test_a_line_without_its_end_is_found_when_it_has_one(library: Library) -> None:
    session_id = library.session(1, prompt("apple"), prompt("pear", 2))
    whole = library.journal(session_id).read_bytes()
    library.journal(session_id).write_bytes(whole[:-5])
    assert library.found("pear") == []
    library.journal(session_id).write_bytes(whole)
    assert library.found("pear") == [("prompt", "pear")]
    assert len(library.ask("apple")) == 1


def test_a_rewritten_journal_is_read_anew(library: Library) -> None:
    session_id = library.session(1, prompt("apple"), prompt("pear", 2))
    library.search.update()
    content = library.journal(session_id).read_bytes().replace(b"apple", b"grape, as is said")
    library.journal(session_id).write_bytes(content)
    assert library.found("apple") == []
    assert library.found("grape") == [("prompt", "grape")]
    assert len(library.ask("pear")) == 1


def test_a_deleted_session_is_found_no_longer(library: Library) -> None:
    session_id = library.session(1, prompt("apple"))
    library.search.update()
    shutil.rmtree(library.sessions / session_id)
    assert library.search.ask(SearchQuery(text="apple")) == []
    assert library.ask("apple") == []
    assert library.search.is_current


def test_copies_of_a_session_are_found_beside_it(library: Library) -> None:
    session_id = library.session(1, prompt("apple"))
    copy = "20261116-090099-bbbbbb"
    shutil.copytree(library.sessions / session_id, library.sessions / copy)
    assert {hit.session_id for hit in library.ask("apple")} == {session_id, copy}


def test_a_long_journal_is_taken_in_part_by_part_also_after_a_stop(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_search, "SLICE_BYTES", 500)
    library.session(1, *(prompt(f"apple{number} tree", number) for number in range(1, 40)))
    asked = count()
    library.search.update(is_stopped=lambda: next(asked) > 5)
    assert not library.search.is_current
    library.search.update()
    assert library.search.is_current
    assert len(library.ask("tree", kind="prompt")) == 8
    assert all(len(library.ask(f"apple{number} ")) == 1 for number in range(1, 40))


@pytest.mark.parametrize("rubbish", [b"no database", b"SQLite format 3\0" + bytes(4096), None])
def test_a_damaged_index_is_made_anew(library: Library, rubbish: bytes | None) -> None:
    library.session(1, prompt("apple"))
    library.search.update()
    if rubbish is None:
        with closing(sqlite3.connect(library.database)) as connection, connection:
            connection.execute("DROP TABLE piece")
        library.session(2, prompt("apple"))
    else:
        library.database.write_bytes(rubbish)
        search = library.open()
        assert search.ask(SearchQuery(text="apple")) == []
        assert not search.is_current
    assert len(library.ask("apple")) == len(list(library.sessions.iterdir()))


def test_an_index_that_cannot_be_written_is_made_in_a_spare_place_until_it_can(
    library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    library.session(1, prompt("apple"))
    library.cache.write_text("a file where the folder should be")
    library.search.update()
    assert library.search.is_current
    assert len(library.search.ask(SearchQuery(text="apple"))) == 1
    library.cache.unlink()
    library.search.update()
    assert library.database.exists()
    assert list(tmp_path.glob("desktop-agent-*/*.sqlite3")) == []
    assert len(library.search.ask(SearchQuery(text="apple"))) == 1


def test_an_index_that_can_be_written_nowhere_is_said(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", "/proc/nowhere")
    library.session(1, prompt("apple"))
    library.cache.write_text("a file where the folder should be")
    with pytest.raises(StorageError):
        library.search.update()
    assert library.search.ask(SearchQuery(text="apple")) == []
    assert not library.search.is_current


def test_most_of_an_index_about_nothing_is_made_anew(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("desktop_agent.core.search.session_search._MOST_GONE", 5)
    lost = library.session(1, *(prompt(f"apple {number}", number) for number in range(1, 20)))
    library.session(2, prompt("pear"))
    library.search.update()
    shutil.rmtree(library.sessions / lost)
    library.search.update()
    with closing(sqlite3.connect(library.database)) as connection:
        assert connection.execute("SELECT count(*) FROM piece").fetchone() == (1,)


def test_several_may_bring_it_up_to_date_at_once(library: Library) -> None:
    for number in range(10):
        library.session(number, prompt(f"apple {number}"))
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(SessionSearch.update, [library.open() for _ in range(8)]))
    assert len(library.ask("apple")) == 10


async def test_a_process_of_its_own_brings_it_up_to_date(library: Library) -> None:
    library.session(1, prompt("apple"))
    assert await update_beside(library.sessions, library.blobs.folder, library.cache)
    assert len(library.search.ask(SearchQuery(text="apple"))) == 1


def test_the_process_ends_with_whoever_started_it(library: Library) -> None:
    arguments = map(str, (library.sessions, library.blobs.folder, library.cache))
    module = "desktop_agent.core.search.session_index_process"
    done = subprocess.run(  # noqa: TID251 - as the window starts it
        [sys.executable, "-P", "-m", module, *arguments], stdin=subprocess.DEVNULL, timeout=60, check=False
    )
    assert done.returncode == 0


@pytest.mark.parametrize(
    "line",
    [
        b"\xff\xfe\n",
        b"[" * 100_000 + b"\n",
        b'{"v":1,"seq":1,"at":"x","type":"prompt_submitted","text":{"a":1}}\n',
        b'{"v":1,"seq":"s","at":"9999-12-31T23:59:59Z","type":"prompt_submitted","turn":"t","text":"\\ud800 odd"}\n',
        b'{"v":1,"seq":1,"at":"0001-01-01T00:00:00Z","type":"tool_call_finished","call_id":[],"result":7}\n',
        b'{"v":1,"seq":1,"at":"x","type":"changes_recorded","changes":[{"path":"../../x","after":{"digest":"../x","size":3}}]}\n',
        b'{"type":"message_done","content":[{"type":"text"},7,{"type":"text","text":"\\u0000 NUL"}]}\n',
    ],
    ids=["no text", "deep", "odd text", "odd head", "odd result", "path tricks", "NUL"],
)
def test_a_hostile_line_costs_no_more_than_itself(library: Library, line: bytes) -> None:
    session_id = library.session(1, prompt("apple"))
    path = library.journal(session_id)
    path.write_bytes(line + path.read_bytes() + line)
    assert ("prompt", "apple") in library.found("apple")
    assert library.search.is_current
    library.ask("odd")
    library.ask("NUL")


@pytest.mark.parametrize(
    ("text", "expression"),
    [
        ("", ""),
        ("page count", '"page" AND "count" *'),
        ("page count ", '"page" AND "count"'),
        ("page_count", '"page count" *'),
        ('"page count" fix', '"page count" AND "fix"'),
        ('"page count"', '"page count"'),
        ('"page coun', '"page coun" *'),
        ("a OR NOT b*", '"a" AND "or" AND "not" AND "b"'),
        ("src/app.py:12", '"src app py 12"'),
        ("Größe", '"größe" *'),
        ('" " ( ) :', ""),
    ],
)
def test_words_are_quoted_and_the_last_may_be_a_beginning(text: str, expression: str) -> None:
    assert parse_question(text).expression == expression


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("the page count", True),
        ("count page", True),
        ('"page count"', True),
        ('"count page"', False),
        ("page_count", True),
        ("coun", True),
        ("coun ", False),
        ("cafe", True),
        ("CAFÉ", True),
        ("nothing", False),
    ],
)
def test_what_is_typed_finds_what_is_meant(library: Library, text: str, wanted: bool) -> None:
    library.session(1, prompt("Fix the page_count in the café"))
    assert bool(library.ask(text)) is wanted


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Library, SearchDatabase]]:
    library = Library(tmp_path_factory.mktemp("library"))
    library.session(1, prompt("apple"))
    library.search.update()
    with closing(sqlite3.connect(library.database, check_same_thread=False)) as connection:
        yield library, SearchDatabase(connection)


@given(text=st.text(max_size=60))
@example(text="\0")
@example(text='"^$NEAR(*')
def test_no_text_is_a_syntax_error(database: tuple[Library, SearchDatabase], text: str) -> None:
    library, index = database
    for query in (SearchQuery(text=text), SearchQuery(text=text, file=text, tool=text, workspace=text)):
        library.search.answer(index, query, 10)


def test_a_snippet_is_one_line_around_the_match_with_all_matches_marked() -> None:
    text = "first line\n" + "x " * 200 + "the page_count\tof\x1b[0m page counts " + "y " * 200
    snippet, marks = snippet_of(text, parse_question("page_coun"))
    assert [snippet[begin:end] for begin, end in marks] == ["page_count", "page counts"]
    assert snippet.startswith("… x x")
    assert snippet.endswith("…")
    assert len(snippet) < 200
    assert snippet.isprintable()


def test_a_snippet_without_a_match_is_the_beginning() -> None:
    assert snippet_of("the beginning", parse_question("")) == ("the beginning", ())
