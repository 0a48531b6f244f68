"""Identifiers become words, and any question becomes an expression that FTS5 takes."""

import sqlite3
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.search.files.question import MOST_TERMS, humps, parse_question


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("readFile", "read File"),
        ("HTTPServer", "HTTP Server"),
        ("a.parseJSON2(x)", "parse JSON 2"),
        ("my_readFile", "read File"),
        ("plain Title UPPER 123 snake_case", ""),
        ("readFile readFile", "read File"),
        ("", ""),
    ],
)
def test_camel_case_is_taken_apart(text: str, words: str) -> None:
    assert humps(text) == words


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("where are sessions resumed?", ("sessions", "resumed")),
        ("AgentRunner", ("agentrunner", "agent", "runner")),
        ("resume_session", ("resume", "session")),
        ("the", ("the",)),
        ("What is this", ("what", "is", "this")),
        ("größe ändern", ("größe", "ändern")),
        ("token TOKEN Token", ("token",)),
    ],
)
def test_a_question_becomes_the_words_that_matter(text: str, terms: tuple[str, ...]) -> None:
    """T-35: stop words are dropped, unless there is nothing else."""
    question = parse_question(text)
    assert question is not None
    assert question.terms == terms


@pytest.mark.parametrize("text", ["", "   ", "?!", "🙂🙂", "\"'()*^-:{}", "___"])
def test_a_question_without_words_is_none(text: str) -> None:
    assert parse_question(text) is None


def test_a_very_long_question_is_cut() -> None:
    question = parse_question(" ".join(f"word{number}x" for number in range(1000)))
    assert question is not None
    assert question.expression.count(" OR ") == MOST_TERMS - 1


@given(st.text(max_size=80) | st.text(alphabet="aZ_\"'*()^:-+ ORNEAT{}🙂", max_size=40))
def test_no_question_is_an_error_for_the_engine(text: str) -> None:
    """Hostile query text."""
    question = parse_question(text)
    if question is None:
        return
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute("CREATE VIRTUAL TABLE t USING fts5 (a, tokenize = 'porter unicode61')")
        database.execute("INSERT INTO t VALUES ('some text OR another')")
        database.execute("SELECT rowid, bm25(t) FROM t WHERE t MATCH ?", (question.expression,)).fetchall()
