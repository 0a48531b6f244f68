"""A conversation that is open while its account or key changes: what was taken away is not sent any more."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path

import pytest
from msgspec.structs import replace

from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.base.errors import AccountGoneError, AgentError, CredentialsError
from desktop_agent.core.models.account import Account
from desktop_agent.core.protocol.model import ModelRef, ModelRequest
from desktop_agent.core.providers.auth.accounts import AccountsFile
from desktop_agent.core.providers.auth.keys import SystemKeyStore, entry_of
from desktop_agent.core.providers.auth.sign_ins import SignIns, SignInServices
from desktop_agent.core.providers.catalog import ProviderCatalog
from desktop_agent.core.providers.provider import Provider, whole_answer
from tests.core.providers.auth.file_keyring import FileKeyring
from tests.servers.authorization_server import AuthorizationServer
from tests.servers.browser import UserInBrowser
from tests.servers.dialects.chat import CHAT
from tests.servers.dialects.responses import RESPONSES
from tests.servers.model_server import ModelServer
from tests.servers.script import reply, text


@dataclass
class Open:
    """A conversation that is open, by its provider, and what another place of the program may change."""

    provider: Provider
    account: Account
    keys: SystemKeyStore
    accounts: AccountsFile
    server: ModelServer
    request: ModelRequest

    async def ask(self) -> str:
        await whole_answer(self.provider, self.request)
        return self.server.messages[-1].headers["authorization"].removeprefix("Bearer ")


@pytest.fixture
async def here(tmp_path: Path, model_request: ModelRequest) -> AsyncGenerator[Open]:
    keys, accounts = SystemKeyStore(FileKeyring(tmp_path / "keyring.json")), AccountsFile(tmp_path / "accounts.toml")
    async with ModelServer(*[reply(text("Hi."))] * 3, dialect=CHAT) as server:
        account = Account(provider="openai-chat", name="work", address=server.url)
        accounts.put(account)
        keys.set(entry_of(account), "the-first-key")
        sign_ins = SignIns(keys, accounts, tmp_path / "data", clock=SystemClock(), environ={})
        catalog = ProviderCatalog({}, keys, accounts, sign_ins=sign_ins)
        provider = await catalog.build(ModelRef(provider="openai-chat", model=model_request.model, account="work"))
        try:
            yield Open(provider, account, keys, accounts, server, model_request)
        finally:
            await provider.aclose()


async def refused(here: Open, kind: type[AgentError]) -> AgentError:
    before = len(here.server.messages)
    with pytest.raises(kind) as caught:
        await here.ask()
    assert len(here.server.messages) == before
    return caught.value


async def test_a_key_that_was_replaced_is_not_sent_again(here: Open) -> None:
    assert await here.ask() == "the-first-key"
    here.keys.set(entry_of(here.account), "the-second-key")
    assert await here.ask() == "the-second-key"
    here.keys.keep_for_now(entry_of(here.account), "a-key-for-now")
    assert await here.ask() == "a-key-for-now"


async def test_a_key_that_was_removed_is_not_sent_any_more(here: Open) -> None:
    assert await here.ask() == "the-first-key"
    here.keys.delete(entry_of(here.account))
    assert "no API key" in (await refused(here, CredentialsError)).title


async def test_an_account_that_another_process_took_out_is_not_used_any_more(here: Open) -> None:
    assert await here.ask() == "the-first-key"
    AccountsFile(here.accounts.path).remove(here.account)
    error = await refused(here, AccountGoneError)
    assert "no account 'work'" in error.title
    assert "usual" in error.hint, "the others are offered"


async def test_an_account_that_was_renamed_is_gone_under_its_old_name(here: Open) -> None:
    here.accounts.path.write_text(here.accounts.path.read_text().replace('"work"', '"office"'))
    assert "office" in (await refused(here, AccountGoneError)).hint


async def test_an_account_that_moved_is_not_asked_at_its_old_address(here: Open) -> None:
    assert await here.ask() == "the-first-key"
    moved = replace(here.account, address="https://other.example/v1")
    here.keys.set(entry_of(moved), "the-key-of-the-other-address")
    here.accounts.put(moved)
    assert "https://other.example/v1" in (await refused(here, AccountGoneError)).title


async def test_another_account_may_come_and_go(here: Open) -> None:
    other = replace(here.account, name="home")
    here.accounts.put(other)
    here.keys.set(entry_of(other), "another-key")
    assert await here.ask() == "the-first-key"
    here.accounts.remove(other)
    assert await here.ask() == "the-first-key"


async def test_a_sign_in_that_was_ended_is_not_used_any_more(tmp_path: Path, model_request: ModelRequest) -> None:
    async with ModelServer(*[reply(text("Hi."))] * 2, dialect=RESPONSES) as server, AuthorizationServer() as services:
        services.resource = server.url
        keys, accounts = SystemKeyStore(FileKeyring(tmp_path / "keyring.json")), AccountsFile(tmp_path / "a.toml")
        chosen = SignInServices(services.chatgpt(), services.openrouter())
        sign_ins = SignIns(keys, accounts, tmp_path / "data", clock=SystemClock(), environ={}, services=chosen)
        async with UserInBrowser() as browser:
            account = await sign_ins.sign_in_with_chatgpt(browser)
        catalog = ProviderCatalog({}, keys, accounts, sign_ins=sign_ins)
        model = ModelRef(provider="openai", model=model_request.model, account=account.name)
        provider = await catalog.build(model)
        here = Open(provider, account, keys, accounts, server, model_request)
        assert await here.ask() in services.secrets
        await sign_ins.sign_out(account)
        await refused(here, AccountGoneError)
        await provider.aclose()
