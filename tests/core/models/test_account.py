"""What an account may be called and hold: nothing that leaks a key, nothing two keyrings understand differently."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.base.errors import UsageError
from desktop_agent.core.models.account import (
    Account,
    account_problem,
    header_problem,
    name_problem,
    named,
    usual_account,
)

KEY = "sk-ant-test-0123456789abcdef"


@pytest.mark.parametrize("name", ["work", "Work-2", "me@work.example", "größe", "a", "x" * 40])
def test_plain_names_are_taken(name: str) -> None:
    assert name_problem(name) == ""


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("", "1 to 40"),
        ("x" * 41, "1 to 40"),
        ("two words", "1 to 40"),
        ("a:b", "1 to 40"),
        ("-a", "1 to 40"),
        ("a-", "1 to 40"),
        ("line\n", "1 to 40"),
        ("u\u0308ber", "1 to 40"),
        ("Usual", "without a name"),
        (KEY, "looks like a key"),
    ],
)
def test_other_names_are_refused_in_words(name: str, word: str) -> None:
    assert word in name_problem(name)


@given(st.text(max_size=60))
def test_no_name_that_is_taken_can_break_out_of_a_line_or_an_entry(name: str) -> None:
    if name_problem(name) == "":
        assert name.isprintable()
        assert not set(name) & set(":/\\\"' ")
        assert named(name) == name


def test_the_usual_account_is_called_so_and_has_no_name() -> None:
    account = usual_account("anthropic")
    assert (account.name, account.label, account.full_label) == ("", "usual", "Anthropic")
    assert named("Usual") == ""


def test_a_local_server_needs_no_key() -> None:
    assert usual_account("ollama").kind == "none"
    assert usual_account("anthropic").kind == "key"


def test_an_account_goes_to_its_own_address_else_to_the_vendors() -> None:
    assert Account(provider="xai", name="a", address="https://x.example/v1").where == "https://x.example/v1"
    assert usual_account("xai").where == "https://api.x.ai/v1"


def test_an_unknown_provider_is_named_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match="openrouter"):
        usual_account("antropic")


def test_an_account_has_no_address_that_nothing_can_be_sent_to() -> None:
    account = Account(provider="xai", name="work", address="https://models.example/v1?key=x")
    assert "before ? and #" in account_problem(account)


@pytest.mark.parametrize(
    ("name", "value", "word"),
    [
        ("Authorization", f"Bearer {KEY}", "secret"),
        ("cf-aig-authorization", "x", "secret"),
        ("api-key", "x", "secret"),
        ("X-Auth-Token", "x", "secret"),
        ("X-Team", KEY, "secret"),
        ("x-api-key", "x", "itself"),
        ("Content-Length", "3", "itself"),
        ("X Team", "a", "no name"),
        ("X-Team", "a\r\nHost: evil.example", "plain text"),
        ("X-Team", "größe", "plain text"),
    ],
)
def test_a_header_that_holds_a_secret_or_breaks_a_request_is_refused(name: str, value: str, word: str) -> None:
    assert word in header_problem(name, value)


def test_other_headers_are_taken() -> None:
    for name, value in (("X-Team", "search"), ("HTTP-Referer", "https://a.example"), ("OpenAI-Organization", "org-1")):
        assert header_problem(name, value) == ""


def test_what_is_wrong_with_an_account_is_said_without_what_may_be_a_key() -> None:
    wrong = (
        Account(provider="anthropic", name=KEY),
        Account(provider="anthropic", name="a", headers={"X-Team": KEY}),
        Account(provider="anthropic", name="a", headers={f"X-{KEY}": "b"}),
    )
    for account in wrong:
        reason = account_problem(account)
        assert reason
        assert KEY not in reason
    assert "only an account with a name" in account_problem(Account(provider="anthropic", address="https://a.example"))
    assert "not known" in account_problem(Account(provider="demo"))
