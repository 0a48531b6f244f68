"""Going back to earlier prompts loses nothing."""

from desktop_agent.ui.chat.composer.prompt_history import PromptHistory


def test_what_was_sent_and_is_not_recorded_yet_stays_when_the_conversation_is_read_anew() -> None:
    history = PromptHistory(["one"])
    history.add("two")
    history.add("three")
    anew = history.exchanged(["one", "two"])
    assert [anew.older("") for _ in range(4)] == ["three", "two", "one", None]
    assert anew.exchanged(["one", "two", "three"]).older("") == "three"


def test_the_draft_waits_behind_the_newest() -> None:
    history = PromptHistory(["one", "two"])
    assert history.older("draft") == "two"
    assert history.older("two") == "one"
    assert history.older("one") is None
    assert history.newer() == "two"
    assert history.newer() == "draft"
    assert history.newer() is None


def test_the_same_prompt_twice_is_remembered_once() -> None:
    history = PromptHistory()
    history.add("same")
    history.add("same")
    assert history.older("") == "same"
    assert history.older("same") is None


def test_sending_goes_back_to_the_end() -> None:
    history = PromptHistory(["one"])
    history.older("draft")
    history.add("two")
    assert history.older("") == "two"
