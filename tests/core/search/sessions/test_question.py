"""What people type is understood, and nothing that they type is an error."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from desktop_agent.core.protocol.model import SearchQuery
from desktop_agent.core.search.sessions.answer import Answerer
from desktop_agent.core.search.sessions.database import SearchDatabase
from desktop_agent.core.search.sessions.question import parse_question
from desktop_agent.core.search.sessions.snippet import snippet_of
from tests.core.search.sessions.conftest import Library, prompt


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
        Answerer(library.sessions, library.blobs, query).hits(index, 10)


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
