"""A whole turn as an account that signed in, and one whose account or key changes meanwhile."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from msgspec.structs import replace

from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.base.errors import AccountGoneError, AgentError, CredentialsError
from desktop_agent.core.models.account import Account
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import ModelRef, ModelRequest
from desktop_agent.core.providers.auth.accounts import AccountsFile
from desktop_agent.core.providers.auth.keys import SystemKeyStore, entry_of
from desktop_agent.core.providers.auth.sign_ins import SignIns, SignInServices
from desktop_agent.core.providers.catalog import ProviderCatalog
from desktop_agent.core.providers.provider import Provider, whole_answer
from tests.core.providers.auth.file_keyring import FileKeyring
from tests.harness import Ground
from tests.servers import fault
from tests.servers.authorization_server import AuthorizationServer
from tests.servers.browser import UserInBrowser
from tests.servers.dialects.anthropic import ANTHROPIC
from tests.servers.dialects.chat import CHAT
from tests.servers.dialects.responses import RESPONSES
from tests.servers.model_server import Exchange, ModelServer
from tests.servers.script import Answer, reply, text, tool_use


@dataclass
class World:
    """A model server, an authorisation server, and a catalogue of one user's accounts."""

    models: ModelServer
    server: AuthorizationServer
    sign_ins: SignIns
    catalog: ProviderCatalog

    async def signed_in_with_chatgpt(self) -> ModelRef:
        async with UserInBrowser() as browser:
            account = await self.sign_ins.sign_in_with_chatgpt(browser)
        return ModelRef(provider="openai", model="gpt-test-large", account=account.name)

    @property
    def tokens(self) -> list[str]:
        return [_token(exchange) for exchange in self.models.messages]


@asynccontextmanager
async def world(folder: Path, *answers: Answer, is_anthropic: bool = False) -> AsyncGenerator[World]:
    dialect = ANTHROPIC if is_anthropic else RESPONSES
    async with ModelServer(*answers, dialect=dialect) as models, AuthorizationServer() as server:
        server.resource = models.url
        keys, accounts = SystemKeyStore(FileKeyring(folder / "keyring.json")), AccountsFile(folder / "accounts.toml")
        environ = {"ANTHROPIC_CONFIG_DIR": str(folder / "anthropic")}
        services = SignInServices(server.chatgpt(), server.openrouter())
        sign_ins = SignIns(keys, accounts, folder / "data", clock=SystemClock(), environ=environ, services=services)
        yield World(models, server, sign_ins, ProviderCatalog(environ, keys, accounts, sign_ins=sign_ins))


async def test_requests_carry_the_token_and_what_a_plan_takes(ground: Ground, tmp_path: Path) -> None:
    async with world(tmp_path, reply(text("Hello."))) as here:
        ended, notices = await _turn(ground, here, await here.signed_in_with_chatgpt())
    assert ended.reason == "completed"
    assert notices == []
    assert here.tokens[0] in here.server.secrets
    sent = here.models.messages[0].fields
    assert (sent["stream"], sent["store"], type(sent["input"])) == (True, False, list)
    assert "max_output_tokens" not in sent
    assert here.models.violations == []


async def test_a_token_that_is_refused_in_the_middle_of_a_turn_is_renewed_and_the_turn_goes_on(
    ground: Ground, tmp_path: Path
) -> None:
    ground.write("a.py", "x = 1\n")
    call = reply(tool_use("read_file", path="a.py"))
    async with world(tmp_path, call, fault.unauthorized(), reply(text("Read."))) as here:
        ended, notices = await _turn(ground, here, await here.signed_in_with_chatgpt())
    assert ended.reason == "completed"
    assert notices == []
    first, refused, renewed = here.tokens
    assert first == refused != renewed
    assert [request["grant_type"] for request in here.server.token_requests] == ["authorization_code", "refresh_token"]


async def test_a_sign_in_that_is_revoked_in_the_middle_of_a_turn_ends_it_with_a_question(
    ground: Ground, tmp_path: Path
) -> None:
    ground.write("a.py", "x = 1\n")
    async with world(tmp_path, reply(tool_use("read_file", path="a.py")), fault.unauthorized()) as here:
        model = await here.signed_in_with_chatgpt()
        here.server.revoke()
        ended, (notice,) = await _turn(ground, here, model)
        again, (told,) = await _turn(ground, here, model)
    assert (ended.reason, again.reason) == ("provider_error", "provider_error")
    assert notice.title == told.title == "You are not signed in with ChatGPT any more."
    assert "auth sign-in openai" in notice.hint
    assert notice.code == "signed_out"
    assert len(here.models.messages) == 2
    written = b"".join(file.read_bytes() for file in ground.paths.data.rglob("*") if file.is_file())
    assert [secret for secret in here.server.secrets if secret.encode() in written] == []


async def test_a_renewed_token_that_is_refused_too_is_not_renewed_for_ever(ground: Ground, tmp_path: Path) -> None:
    async with world(tmp_path, fault.unauthorized(), fault.unauthorized()) as here:
        ended, (notice,) = await _turn(ground, here, await here.signed_in_with_chatgpt())
    assert ended.reason == "provider_error"
    assert notice.level == "error"
    assert len(here.models.messages) == 2
    assert "auth sign-in openai --account chatgpt" in notice.hint
    assert not any(secret in f"{notice.title}{notice.hint}{notice.detail}" for secret in here.server.secrets)


async def test_a_profile_of_anthropics_tools_answers(ground: Ground, tmp_path: Path) -> None:
    async with world(tmp_path, reply(text("Hello.")), is_anthropic=True) as here:
        _write_profile(tmp_path / "anthropic", here)
        account = await here.sign_ins.use_profile("default")
        model = ModelRef(provider="anthropic", model="claude-test", account=account.name)
        ended, notices = await _turn(ground, here, model)
    assert (ended.reason, notices) == ("completed", [])
    assert here.tokens == ["sk-ant-oat01-of-the-profile"]
    assert here.models.messages[0].headers["anthropic-beta"] == "oauth-2025-04-20"
    assert here.models.violations == []


async def _turn(ground: Ground, here: World, model: ModelRef) -> tuple[ev.TurnEnded, list[ev.Notice]]:
    async def build(_model: ModelRef) -> Provider:
        return await here.catalog.build(model)

    async with ground.session([], provider_source=build) as s:
        ended = await s.prompt()
        return ended, s.rx.all(ev.Notice)


def _token(exchange: Exchange) -> str:
    return exchange.headers.get("authorization", "").removeprefix("Bearer ")


def _write_profile(folder: Path, here: World) -> None:
    config = {"authentication": {"type": "user_oauth", "client_id": "c"}, "base_url": here.models.url}
    tokens = {"access_token": "sk-ant-oat01-of-the-profile", "refresh_token": "r", "expires_at": 4_000_000_000}
    for part, content in (("configs", config), ("credentials", tokens)):
        path = folder / part / "default.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(content))
        path.chmod(0o600)


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
