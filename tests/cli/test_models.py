"""`desktop-agent models` lists known models offline, and asks the address only on request."""

import os
from functools import partial

import pytest

from desktop_agent.core.base.paths import AppPaths
from tests.cli.conftest import Command
from tests.command_line import CommandLine
from tests.servers.dialects.chat import OPENROUTER
from tests.servers.threaded import serve


@pytest.fixture
def models(run: CommandLine, backend: object, monkeypatch: pytest.MonkeyPatch) -> Command:
    monkeypatch.setenv("OPENROUTER_API_KEY", "k")
    return partial(run, "models", "list")


def own_config(name: str, text: str) -> None:
    folder = AppPaths.from_environment(os.environ).config
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)


def test_before_a_list_was_fetched_the_few_that_ship_are_listed_with_what_is_known(models: Command) -> None:
    ran = models("--provider", "anthropic")
    assert "claude-sonnet-5-5" in ran.out
    assert "unknown" in ran.out
    assert "not fetched yet" in ran.out
    assert ran.err == ""


@pytest.mark.parametrize(
    ("provider", "name", "price"),
    [
        ("bedrock", "global.anthropic.claude-sonnet-5-5", 2.0),
        ("vertex", "claude-opus-5-5", 4.0),
        ("foundry", "claude-haiku-5-5", 0.1),
        ("aws", "claude-sonnet-5-5", 2.0),
    ],
)
def test_the_models_of_a_cloud_have_their_windows_and_prices(
    models: Command, provider: str, name: str, price: float
) -> None:
    listed = {model["name"]: model for model in models("--provider", provider, "--json").json["models"]}
    assert listed[name]["context_tokens"] == 1_000_000
    assert listed[name]["price"]["input"] == price


def test_a_list_is_fetched_when_told_to_and_stays(models: Command) -> None:
    with serve(dialect=OPENROUTER, asks_for_key=False) as server:
        account = f'provider="openrouter"\nname="here"\naddress="{server.url}"\nkind="none"'
        own_config("accounts.toml", f"[[account]]\n{account}\n")
        assert models("--provider", "openrouter", "--account", "here", "--refresh").code == 0
    later = models("--provider", "openrouter", "--account", "here", "--json").json
    assert later["fetched_at"]
    assert later["models"][0] == {
        "provider": "openrouter", "account": "here", "name": "vendor/large-test", "label": "Vendor: Large Test",
        "context_tokens": 200_000, "output_tokens": 64_000, "takes_images": True, "takes_tools": True, "thinks": True,
        "efforts": None, "price": {"input": 3.0, "output": 15.0, "cache_read": 0.3, "cache_write": 3.75},
    }  # fmt: skip
    failed = models("--provider", "openrouter", "--account", "here", "--refresh")
    assert failed.code == 1
    assert "could not be reached" in failed.err
    assert len(models("--provider", "openrouter", "--account", "here", "--json").json["models"]) == 2


def test_what_the_user_says_of_a_model_is_shown_and_mistakes_are_named(models: Command) -> None:
    own_config("models.toml", '[[model]]\nprovider="ollama"\nname="q"\ncontext_tokens=40960\n[[model]]\nname="r"\n')
    ran = models("--provider", "ollama")
    assert "41k" in ran.out
    assert "free" in ran.out
    assert "models.toml:5: model 2: provider must be one of" in ran.err


@pytest.mark.parametrize("arguments", [("--provider", "nobody"), ("--provider", "demo"), ("--account", "gone")])
def test_an_unknown_provider_or_account_is_bad_usage(models: Command, arguments: tuple[str, ...]) -> None:
    ran = models(*arguments)
    assert ran.code != 0
    assert "error:" in ran.err
