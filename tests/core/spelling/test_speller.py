"""The dictionaries of the system, as they are installed for the tests: English and German."""

import sys

import pytest

from desktop_agent.core.spelling.speller import Speller, open_speller


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
