"""Which words of a message are looked up."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.spelling.prose import words_of


def texts(message: str) -> list[str]:
    return [word.text for word in words_of(message)]


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("Fix the bug, please!", ["Fix", "the", "bug", "please"]),
        ("Don’t touch (yet) the *old* “tests”…", ["Don’t", "touch", "yet", "the", "old", "tests"]),
        ("a well-known off-by-one", ["well", "known", "off", "by", "one"]),
        ("Größe und Maß", ["Größe", "und", "Maß"]),
        ("Rename page_count to pageCount in v2", ["Rename", "to", "in"]),
        ("see src/app.py, docs/guide and README", ["see", "and"]),
        ("run `pip instal` with --verbos and ./x.sh", ["run", "with", "and"]),
        ("before\n```\nretrun x\n```\nafter", ["before", "after"]),
        ("before ```retrun x", ["before"]),
        ("/review @file:app.py https://example.org/teh <br> {nmae} foo() e.g.", []),
        ("NASA HTTPServer iPhone", []),
        ("修复 错误 エラー fix", ["fix"]),
        ("", []),
    ],
)
def test_prose_is_looked_up_and_code_is_not(message: str, words: list[str]) -> None:
    assert texts(message) == words


@given(st.text())
def test_each_word_stands_where_it_says_and_they_come_in_order(message: str) -> None:
    end = 0
    for word in words_of(message):
        assert message[word.start : word.end] == word.text
        assert word.start >= end
        end = word.end
