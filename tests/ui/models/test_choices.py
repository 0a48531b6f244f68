from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from desktop_agent.ui.models.model_offers import AccountOffers, ChoiceRow, Choices, ModelKey
from tests.ui.models.stage import ALL, ANTHROPIC, DEMO, NO_KEY, OPUS, QWEN, ROUTER, SONNET, WORK, WORK_OPUS


def said(rows: tuple[ChoiceRow, ...]) -> list[str]:
    return [row.text for row in rows]


def keys(rows: tuple[ChoiceRow, ...]) -> list[ModelKey]:
    return [row.offer.key for row in rows if row.kind == "model" and row.offer is not None]


def test_every_account_has_its_group_and_one_without_a_credential_a_quiet_row_at_the_end() -> None:
    rows = Choices(accounts=ALL, current=SONNET).all_rows()
    assert said(rows) == [
        *("Anthropic", "Claude Sonnet 5", "Claude Opus 5"),
        *("Anthropic (work)", "Claude Opus 5"),
        *("OpenRouter", "qwen/qwen3-coder"),
        *("Demo", "Demo model"),
        *("Not connected", "Connect OpenAI…"),
    ]
    assert [row.kind for row in rows if not row.is_choice] == ["heading"] * 5


def test_favourites_come_first_then_recent_ones_that_are_none() -> None:
    rows = Choices(accounts=ALL, favourites=(QWEN, WORK_OPUS), recent=(OPUS, QWEN)).all_rows()
    assert said(rows)[:5] == ["Favourites", "qwen/qwen3-coder", "Claude Opus 5", "Recent", "Claude Opus 5"]
    assert all(row.tells_account for row in rows[1:3])
    alone = Choices(accounts=(ANTHROPIC, DEMO), favourites=(OPUS,)).all_rows()
    assert not alone[1].tells_account, "there is no other"


def test_a_favourite_of_an_account_that_is_gone_waits_unseen() -> None:
    rows = Choices(accounts=(WORK,), favourites=(QWEN,), recent=(OPUS,)).all_rows()
    assert said(rows) == ["Anthropic (work)", "Claude Opus 5"]


def test_a_favourite_that_is_not_listed_is_offered_by_its_name() -> None:
    old = ModelKey("anthropic", "", "sonnet-4")
    rows = Choices(accounts=(ANTHROPIC,), favourites=(old,)).all_rows()
    assert (rows[1].text, keys(rows)[0]) == ("sonnet-4", old)


def test_the_model_that_answers_is_there_even_if_it_is_not_listed() -> None:
    own = ModelKey("anthropic", "work", "my-own")
    assert keys(Choices(accounts=(ANTHROPIC, WORK), current=own).all_rows())[2:] == [own, WORK_OPUS]


def test_a_list_that_could_not_be_read_says_why_below_its_account() -> None:
    old = replace(ROUTER, problem="OpenRouter does not answer.")
    rows = Choices(accounts=(old,)).all_rows()
    assert said(rows) == ["OpenRouter", "OpenRouter does not answer.", "qwen/qwen3-coder"]
    assert rows[1].kind == "note"


def test_one_that_offers_nothing_and_does_not_answer_is_not_connected() -> None:
    silent = AccountOffers(provider="ollama", label="Ollama", problem="Ollama is not running.")
    assert said(Choices(accounts=(silent, NO_KEY)).all_rows()) == [
        *("Not connected", "Connect OpenAI…", "Ollama is not running.")
    ]


def test_what_is_typed_finds_by_name_label_and_account() -> None:
    find = Choices(accounts=ALL).finder()
    assert keys(find("opus"))[:2] == [OPUS, WORK_OPUS]
    assert keys(find("work opus")) == [WORK_OPUS]
    assert keys(find("qwcod")) == [QWEN]
    assert find("claude opus")[0].spans == ((0, 6), (7, 11))


def test_favourites_and_recent_ones_are_found_first() -> None:
    find = Choices(accounts=ALL, favourites=(WORK_OPUS,)).finder()
    assert keys(find("opus"))[:2] == [WORK_OPUS, OPUS]


def test_a_name_that_is_not_listed_can_be_used_by_each_account_the_present_one_first() -> None:
    rows = Choices(accounts=ALL, current=QWEN).finder()("opus-6")
    assert said(rows) == [f"Use “opus-6” of {account.label}" for account in (ROUTER, ANTHROPIC, WORK)]
    assert rows[0].offer is not None
    assert rows[0].offer.key == ModelKey("openrouter", "", "opus-6")


def test_a_name_that_is_listed_is_not_offered_twice_and_words_with_a_space_are_no_name() -> None:
    find = Choices(accounts=(ANTHROPIC, DEMO)).finder()
    assert said(find("opus-5")) == ["Claude Opus 5"]
    assert said(find("no such model")) == ["No model has this name"]


def test_an_account_without_a_credential_is_found_by_its_name() -> None:
    find = Choices(accounts=(ANTHROPIC, NO_KEY)).finder()
    assert said(find("openai")) == ["Connect OpenAI…", "Use “openai” of Anthropic"]
    assert said(find("connect OPEN")) == ["Connect OpenAI…"]


@given(st.text(max_size=12))
def test_whatever_is_typed_every_model_is_found_at_most_once(typed: str) -> None:
    found = keys(Choices(accounts=ALL, favourites=(QWEN,), current=SONNET).finder()(typed))
    assert len(found) == len(set(found))
