"""Which words of a message are spell-checked, with English and German test dictionaries."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.spelling import Speller, open_speller, words_of


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


@pytest.fixture
def speller() -> Speller:
    opened = open_speller(["de-DE", "de"])
    assert opened is not None
    return opened


def test_a_word_is_right_when_one_of_the_languages_has_it(speller: Speller) -> None:
    words = ("receive", "recieve", "Straße", "Strase", "don’t")
    assert speller.misspelled(words) == {"recieve", "Strase"}


def test_what_may_be_meant_comes_from_all_of_them(speller: Speller) -> None:
    assert "receive" in speller.suggestions("recieve")
    assert "Straße" in speller.suggestions("Strase")
    assert len(speller.suggestions("teh")) <= 6


def test_a_learned_word_is_right_for_the_next_start_too(speller: Speller) -> None:
    assert speller.misspelled(("qasync",)) == {"qasync"}
    speller.learn("qasync")
    assert speller.misspelled(("qasync",)) == frozenset()
    again = open_speller(["de-DE"])
    assert again is not None
    assert again.misspelled(("qasync",)) == frozenset()


@pytest.mark.parametrize("languages", [["C"], ["xx-YY"], [], ["en-GB"], ["en"]])
def test_english_is_known_whatever_the_system_speaks(languages: list[str]) -> None:
    opened = open_speller(languages)
    assert opened is not None
    assert opened.misspelled(("colour", "color", "teh")) >= {"teh"}
    assert "color" not in opened.misspelled(("color",))


def test_without_the_library_nothing_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "enchant", None)
    assert open_speller(["en-US"]) is None


def test_without_a_dictionary_nothing_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(_broker: object) -> list[str]:
        return []

    monkeypatch.setattr("enchant.Broker.list_languages", none)
    assert open_speller(["en-US"]) is None
