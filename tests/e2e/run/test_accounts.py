"""A run uses one account: its key goes to its address, and the session records it."""

import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.models.account import Account
from desktop_agent.core.models.vendors import usual_model
from desktop_agent.core.providers.auth.accounts import ACCOUNTS_NAME, AccountsFile
from desktop_agent.core.providers.auth.keys import SystemKeyStore, entry_of
from desktop_agent.core.settings.settings_file import save_setting
from tests.command_line import Ran
from tests.e2e.run.agent import Agent
from tests.memory_keyring import MemoryKeyring, use_keyring
from tests.servers.dialects.anthropic import AnthropicDialect
from tests.servers.dialects.clouds import WORKSPACE, AwsDialect, FoundryDialect, bedrock
from tests.servers.script import reply, text
from tests.servers.threaded import ThreadedServer, serve

USUAL_KEY, WORK_KEY = "sk-ant-test-000000000000", "sk-ant-work-000000000000"


class Accounts:
    def __init__(self, backend: MemoryKeyring) -> None:
        self.paths = AppPaths.from_environment(os.environ)
        self.file = AccountsFile(self.paths.config / ACCOUNTS_NAME)
        self._store = SystemKeyStore(backend)

    def add(self, name: str, server: ThreadedServer, key: str = WORK_KEY) -> Account:
        account = Account(provider="anthropic", name=name, address=server.url)
        self.file.put(account)
        self._store.set(entry_of(account), key)
        return account


@pytest.fixture
def accounts(monkeypatch: pytest.MonkeyPatch) -> Accounts:
    backend = MemoryKeyring()
    use_keyring(monkeypatch, backend)
    return Accounts(backend)


def go(agent: Agent, workspace: Path, *more: str) -> Ran:
    return agent("run", "--prompt", "go", "--workspace", workspace, "--json", *more)


def keys(server: ThreadedServer) -> list[str]:
    return [request.headers["authorization"].removeprefix("Bearer ") for request in server.messages]


def test_each_key_goes_to_the_address_of_its_account_only(agent: Agent, workspace: Path, accounts: Accounts) -> None:
    with serve(reply(text("at work"))) as work, serve(reply(text("at home"))) as home:
        accounts.add("work", work)
        assert go(agent, workspace, "--account", "Work").json["final_response"] == "at work"
        assert go(agent, workspace, "--base-url", home.url).json["final_response"] == "at home"
        assert (keys(work), keys(home)) == ([WORK_KEY], [USUAL_KEY])
        refused = go(agent, workspace, "--account", "work", "--base-url", home.url)
        assert refused.code == 2
        assert "own address only" in refused.err
        assert len(home.messages) == 1


@dataclass(frozen=True)
class OneHeader(AnthropicDialect):
    """A gateway that takes keys in one header only."""

    header: str = "authorization"

    def key(self, headers: Mapping[str, str]) -> str:
        return headers.get(self.header, "").removeprefix("Bearer ")


@pytest.mark.parametrize(("wants", "is_sent"), [("x-api-key", "bearer"), ("authorization", "x-api-key")])
def test_a_gateway_gets_the_key_in_the_header_that_it_wants(
    agent: Agent, workspace: Path, accounts: Accounts, wants: str, is_sent: str
) -> None:
    agent.done("auth", "set", "anthropic", "--header", is_sent)  # the key is in the environment
    with serve(reply(text("Hello.")), dialect=OneHeader(header=wants), key=USUAL_KEY) as server:
        refused = go(agent, workspace, "--base-url", server.url)
        assert refused.json["stopped_reason"] == "provider_error"
        (advice,) = re.findall(r"`desktop-agent (.*)`", refused.json["problems"][0])
        assert agent.done(*shlex.split(advice), "--json").json["source"] == "environment"
        assert go(agent, workspace, "--base-url", server.url).code == 0


def test_a_session_goes_on_by_its_account(agent: Agent, workspace: Path, accounts: Accounts) -> None:
    with serve(reply(text("one")), reply(text("two"))) as work:
        accounts.add("work", work)
        session = go(agent, workspace, "--account", "work").json["session_id"]
        assert go(agent, workspace, "--resume", session).json["final_response"] == "two"
        assert keys(work) == [WORK_KEY, WORK_KEY]


def test_the_settings_name_the_account_of_new_sessions(agent: Agent, workspace: Path, accounts: Accounts) -> None:
    with serve(reply(text("one"))) as work:
        accounts.add("work", work)
        save_setting(accounts.paths.settings_file(), "model.account", "work")
        assert go(agent, workspace).code == 0
        assert keys(work) == [WORK_KEY]
        save_setting(accounts.paths.settings_file(), "model.account", "gone")
        refused = go(agent, workspace)
        assert refused.code == 2
        assert "no account 'gone' for Anthropic" in refused.err
        assert "work" in refused.err


def test_a_session_whose_account_is_gone_says_so_and_goes_on_by_another(
    agent: Agent, workspace: Path, accounts: Accounts
) -> None:
    with serve(reply(text("one"))) as work, serve(reply(text("two")), reply(text("three"))) as other:
        gone = accounts.add("work", work)
        accounts.add("other", other, "sk-ant-other-0000000000")
        session = go(agent, workspace, "--account", "work").json["session_id"]
        accounts.file.remove(gone)
        ran = go(agent, workspace, "--resume", session)
        assert (ran.code, ran.json["stopped_reason"]) == (1, "provider_error")
        assert ran.err.count("There is no account 'work' for Anthropic.") >= 1
        assert "other" in ran.err
        assert go(agent, workspace, "--resume", session, "--account", "nope").code == 2
        ran = go(agent, workspace, "--resume", session, "--account", "other")
        assert ran.json["final_response"] == "two"
        assert "no account" not in ran.err
        assert go(agent, workspace, "--resume", session).json["final_response"] == "three"
        assert len(work.messages) == 1
        assert keys(other) == ["sk-ant-other-0000000000"] * 2


def test_nothing_runs_while_the_accounts_cannot_be_read(agent: Agent, workspace: Path, accounts: Accounts) -> None:
    with serve() as server:
        accounts.add("work", server)
        accounts.file.path.write_text(accounts.file.path.read_text() + "key = 'x'\n")
        for more in (["--account", "work"], ["--base-url", server.url]):
            ran = go(agent, workspace, *more)
            assert ran.code != 0
            assert "accounts.toml:1: account 1: 'key' is not known" in ran.err
        assert server.messages == []


def test_no_key_of_an_account_is_in_any_file(
    agent: Agent, workspace: Path, accounts: Accounts, isolated_home: Path
) -> None:
    with serve(reply(text("one"))) as work:
        accounts.add("work", work)
        ran = go(agent, workspace, "--account", "work", "--verbose")
    assert ran.code == 0
    files = [path for path in (*isolated_home.rglob("*"), *workspace.rglob("*")) if path.is_file()]
    assert files
    assert [path for path in files if WORK_KEY.encode() in path.read_bytes()] == []
    assert WORK_KEY not in ran.out + ran.err


AWS = {"AWS_ACCESS_KEY_ID": "AKIATESTTESTTEST1234", "AWS_SECRET_ACCESS_KEY": "a-secret-of-the-test-0123456789"}
OLDER = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"


@pytest.mark.parametrize(
    ("provider", "model", "environ"),
    [
        ("bedrock", OLDER, AWS | {"AWS_REGION": "us-east-1"}),
        ("bedrock", "", {"AWS_BEARER_TOKEN_BEDROCK": USUAL_KEY, "AWS_REGION": "us-east-1"}),
        ("foundry", "", {"ANTHROPIC_FOUNDRY_API_KEY": USUAL_KEY}),
        ("aws", "claude-opus-5-5", {"ANTHROPIC_AWS_API_KEY": USUAL_KEY, "ANTHROPIC_AWS_WORKSPACE_ID": WORKSPACE}),
    ],
)
def test_a_cloud_is_asked_at_another_address_by_its_own_name_of_the_model(
    agent: Agent,
    workspace: Path,
    accounts: Accounts,
    monkeypatch: pytest.MonkeyPatch,
    provider: Literal["bedrock", "foundry", "aws"],
    model: str,
    environ: Mapping[str, str],
) -> None:
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    if provider == "foundry":
        accounts.file.put(Account(provider=provider, kind="profile", cloud={"resource": "mine"}))
    options = ("--model", model) if model else ()
    dialects = {"bedrock": bedrock(model or usual_model(provider)), "foundry": FoundryDialect(), "aws": AwsDialect()}
    with serve(reply(text("from the cloud")), dialect=dialects[provider]) as server:
        ran = go(agent, workspace, "--provider", provider, "--base-url", server.url, *options)
        assert server.violations == []
    assert (ran.code, ran.json["final_response"]) == (0, "from the cloud"), ran.err
    assert ran.json["usage"]["cost_usd"] is None, "what a gateway costs is not known"


@pytest.mark.parametrize("client", ["direct", "sdk"])
def test_a_run_can_say_who_sends_the_requests(agent: Agent, workspace: Path, client: str) -> None:
    with serve(reply(text("Here."))) as server:
        ran = go(agent, workspace, "--base-url", server.url, "--client", client)
        assert server.violations == []
    assert ran.json["final_response"] == "Here."
    assert ("x-stainless-lang" in server.messages[0].headers) == (client == "sdk")
