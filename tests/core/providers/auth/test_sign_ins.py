"""Accounts are signed in and out, sign their requests, and run whole turns."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from keyring.backends import fail
from msgspec.structs import replace

from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.base.errors import (
    AccountGoneError,
    AgentError,
    CredentialsError,
    UnsafeSettingsError,
    UsageError,
)
from desktop_agent.core.models.account import Account, usual_account
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import ModelRef, ModelRequest
from desktop_agent.core.providers.auth.accounts import AccountsFile
from desktop_agent.core.providers.auth.keys import SystemKeyStore, entry_of, resolve_key
from desktop_agent.core.providers.auth.sign_ins import CHATGPT, SignIns, SignInServices
from desktop_agent.core.providers.auth.token_renewal import SignedOutError
from desktop_agent.core.providers.provider import Provider, whole_answer
from desktop_agent.core.providers.provider_catalog import ProviderCatalog
from tests.core.providers.auth.file_keyring import FileKeyring
from tests.core.providers.auth.hand_clock import HandClock
from tests.harness import Ground
from tests.servers import fault
from tests.servers.authorization_server import EMAIL, KEY, AuthorizationServer, query_of
from tests.servers.browser import ClosedBrowser, UserInBrowser, ask
from tests.servers.dialects.chat import CHAT
from tests.servers.dialects.responses import RESPONSES
from tests.servers.model_server import Exchange, ModelServer
from tests.servers.script import Answer, reply, text, tool_use


class Installation:
    def __init__(self, folder: Path, server: AuthorizationServer, browser: UserInBrowser) -> None:
        self.server = server
        self.browser = browser
        self.keyring = FileKeyring(folder / "keyring.json")
        self.accounts = AccountsFile(folder / "config" / "accounts.toml")
        self.data = folder / "data"
        self.clock = HandClock()
        self.services = SignInServices(server.chatgpt(), server.openrouter())

    def sign_ins(self) -> SignIns:
        keys = SystemKeyStore(self.keyring)
        return SignIns(keys, self.accounts, self.data, clock=self.clock, environ={}, services=self.services)


@pytest.fixture
async def here(tmp_path: Path) -> AsyncGenerator[Installation]:
    async with AuthorizationServer() as server, UserInBrowser() as browser:
        yield Installation(tmp_path, server, browser)


async def test_an_account_that_signed_in_with_chatgpt_is_asked_by_its_token(here: Installation) -> None:
    account = await here.sign_ins().sign_in_with_chatgpt(here.browser)
    assert account == Account(provider="openai", name="chatgpt", kind="oauth")
    chosen = here.accounts.load().of_model(ModelRef(provider="openai", model="m", account="chatgpt"))
    assert chosen == account
    credential = await here.sign_ins().credential(account)
    (authorization,) = (await credential.headers()).values()
    assert authorization.removeprefix("Bearer ") in here.server.secrets
    assert credential.secrets == (authorization.removeprefix("Bearer "),)
    assert authorization.removeprefix("Bearer ") not in repr(credential)
    registration = await here.sign_ins().registration(account)
    assert registration is not None
    assert registration.email == EMAIL


async def test_signing_in_again_asks_as_the_same_installation_and_registration(here: Installation) -> None:
    for _ in range(2):
        await here.sign_ins().sign_in_with_chatgpt(here.browser)
    first, second = here.server.asked
    assert second["client_id"] != first["client_id"] == "dynamic_agent_client"
    assert second["ext_agent_host_id"] == first["ext_agent_host_id"]
    assert len(here.accounts.load().added) == 1


async def test_sessions_of_a_process_share_what_is_known_of_an_account(here: Installation) -> None:
    sign_ins = here.sign_ins()
    account = await sign_ins.sign_in_with_chatgpt(here.browser)
    one, other = [await sign_ins.credential(account) for _ in range(2)]
    here.clock.move(3600)
    assert await one.headers() == await other.headers()
    assert len(here.server.token_requests) == 2
    here.clock.move(60)
    before = await one.headers()
    assert await one.renew()
    assert await other.headers() != before
    assert len(here.server.token_requests) == 3


async def test_a_request_that_is_slow_to_be_refused_does_not_blame_the_token_of_another(here: Installation) -> None:
    sign_ins = here.sign_ins()
    credential = await sign_ins.credential(await sign_ins.sign_in_with_chatgpt(here.browser))
    is_sent, is_refused = asyncio.Event(), asyncio.Event()

    async def ask_slowly() -> None:
        await credential.headers()
        is_sent.set()
        await is_refused.wait()
        assert await credential.renew()

    slow = asyncio.ensure_future(ask_slowly())
    await is_sent.wait()
    await credential.headers()
    assert await credential.renew()
    renewed = await credential.headers()
    is_refused.set()
    await slow
    assert await credential.headers() == renewed
    assert len(here.server.token_requests) == 2


async def test_a_credential_that_was_never_sent_needs_no_renewal(here: Installation) -> None:
    credential = await here.sign_ins().credential(await here.sign_ins().sign_in_with_chatgpt(here.browser))
    assert not await credential.renew()


async def test_a_signed_out_account_leaves_nothing(here: Installation) -> None:
    sign_ins = here.sign_ins()
    account = await sign_ins.sign_in_with_chatgpt(here.browser)
    await sign_ins.credential(account)
    other_session = await here.sign_ins().credential(account)
    await other_session.headers()
    await sign_ins.sign_out(account)
    with pytest.raises(SignedOutError):
        await other_session.renew()
    assert here.keyring.entries == {}
    assert here.accounts.load().added == ()
    with pytest.raises(CredentialsError, match="You are not signed in"):
        await sign_ins.credential(account)
    await sign_ins.sign_out(account)


async def test_an_account_has_several_neighbours_with_sign_ins_of_their_own(here: Installation) -> None:
    sign_ins = here.sign_ins()
    home, work = [await sign_ins.sign_in_with_chatgpt(here.browser, name) for name in ("home", "work")]
    assert await (await sign_ins.credential(home)).headers() != await (await sign_ins.credential(work)).headers()
    await sign_ins.sign_out(home)
    assert here.accounts.load().added == (work,)
    await (await sign_ins.credential(work)).headers()


async def test_a_token_goes_to_its_own_address_only(here: Installation) -> None:
    account = await here.sign_ins().sign_in_with_chatgpt(here.browser)
    elsewhere = replace(account, address="https://gateway.example/v1")
    with pytest.raises(CredentialsError, match=CHATGPT.resource):
        await here.sign_ins().credential(elsewhere)


@pytest.mark.parametrize("name", ["", "work"])
async def test_a_name_that_an_account_with_a_key_has_is_not_taken(here: Installation, name: str) -> None:
    here.accounts.put(Account(provider="openai", name="work"))
    with pytest.raises(UsageError, match="another account of openai"):
        await here.sign_ins().sign_in_with_chatgpt(here.browser, name)
    assert here.browser.opened == []


async def test_without_a_keyring_the_browser_is_not_opened(here: Installation) -> None:
    for backend in (fail.Keyring(), _locked(here.keyring)):
        sign_ins = SignIns(SystemKeyStore(backend), here.accounts, here.data, clock=here.clock, services=here.services)
        with pytest.raises(CredentialsError, match="keyring"):
            await sign_ins.sign_in_with_chatgpt(here.browser)
        with pytest.raises(CredentialsError, match="keyring"):
            await sign_ins.sign_in_with_openrouter(here.browser)
    assert here.browser.opened == []
    assert here.accounts.load().added == ()


async def test_accounts_that_cannot_be_read_stop_it(here: Installation) -> None:
    here.accounts.path.parent.mkdir()
    here.accounts.path.write_text("[[account]]\nprovider = 7\n")
    with pytest.raises(UnsafeSettingsError):
        await here.sign_ins().sign_in_with_chatgpt(here.browser)
    assert here.browser.opened == []


async def test_a_sign_in_that_is_cancelled_adds_nothing(here: Installation) -> None:
    browser = ClosedBrowser()
    running = asyncio.ensure_future(here.sign_ins().sign_in_with_chatgpt(browser))
    await browser.is_open.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert here.keyring.entries == {}
    assert here.accounts.load().added == ()
    with pytest.raises(ConnectionError):  # no port listens any more
        await ask(query_of(browser.opened[0])["redirect_uri"])


async def test_openrouters_key_is_a_key_like_others(here: Installation) -> None:
    keys = SystemKeyStore(here.keyring)
    usual = await here.sign_ins().sign_in_with_openrouter(here.browser)
    named = await here.sign_ins().sign_in_with_openrouter(here.browser, "work")
    assert usual == usual_account("openrouter")
    assert [resolve_key(account, {}, keys).value for account in (usual, named)] == [KEY, KEY]
    assert here.accounts.load().added == (named,)
    for account in (usual, named):
        await here.sign_ins().sign_out(account)
    assert here.keyring.entries == {}
    assert here.accounts.load().added == ()


def _locked(keyring: FileKeyring) -> FileKeyring:
    keyring.is_locked = True
    return keyring


@dataclass
class World:
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
async def world(folder: Path, *answers: Answer) -> AsyncGenerator[World]:
    async with ModelServer(*answers, dialect=RESPONSES) as models, AuthorizationServer() as server:
        server.resource = models.url
        keys, accounts = SystemKeyStore(FileKeyring(folder / "keyring.json")), AccountsFile(folder / "accounts.toml")
        services = SignInServices(server.chatgpt(), server.openrouter())
        sign_ins = SignIns(keys, accounts, folder / "data", clock=SystemClock(), environ={}, services=services)
        yield World(models, server, sign_ins, ProviderCatalog({}, keys, accounts, sign_ins=sign_ins))


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


async def _turn(ground: Ground, here: World, model: ModelRef) -> tuple[ev.TurnEnded, list[ev.Notice]]:
    async def build(_model: ModelRef) -> Provider:
        return await here.catalog.build(model)

    async with ground.session([], provider_source=build) as s:
        ended = await s.prompt()
        return ended, s.rx.all(ev.Notice)


def _token(exchange: Exchange) -> str:
    return exchange.headers.get("authorization", "").removeprefix("Bearer ")


@dataclass
class Open:
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
async def conversation(tmp_path: Path, model_request: ModelRequest) -> AsyncGenerator[Open]:
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


async def refused(conversation: Open, kind: type[AgentError]) -> AgentError:
    before = len(conversation.server.messages)
    with pytest.raises(kind) as caught:
        await conversation.ask()
    assert len(conversation.server.messages) == before
    return caught.value


async def test_a_key_that_was_replaced_is_not_sent_again(conversation: Open) -> None:
    assert await conversation.ask() == "the-first-key"
    conversation.keys.set(entry_of(conversation.account), "the-second-key")
    assert await conversation.ask() == "the-second-key"
    conversation.keys.keep_for_now(entry_of(conversation.account), "a-key-for-now")
    assert await conversation.ask() == "a-key-for-now"


async def test_a_key_that_was_removed_is_not_sent_any_more(conversation: Open) -> None:
    assert await conversation.ask() == "the-first-key"
    conversation.keys.delete(entry_of(conversation.account))
    assert "no API key" in (await refused(conversation, CredentialsError)).title


async def test_an_account_that_another_process_took_out_is_not_used_any_more(conversation: Open) -> None:
    assert await conversation.ask() == "the-first-key"
    AccountsFile(conversation.accounts.path).remove(conversation.account)
    error = await refused(conversation, AccountGoneError)
    assert "no account 'work'" in error.title
    assert "usual" in error.hint, "the others are offered"


async def test_an_account_that_was_renamed_is_gone_under_its_old_name(conversation: Open) -> None:
    conversation.accounts.path.write_text(conversation.accounts.path.read_text().replace('"work"', '"office"'))
    assert "office" in (await refused(conversation, AccountGoneError)).hint


async def test_an_account_that_moved_is_not_asked_at_its_old_address(conversation: Open) -> None:
    assert await conversation.ask() == "the-first-key"
    moved = replace(conversation.account, address="https://other.example/v1")
    conversation.keys.set(entry_of(moved), "the-key-of-the-other-address")
    conversation.accounts.put(moved)
    assert "https://other.example/v1" in (await refused(conversation, AccountGoneError)).title


async def test_another_account_may_come_and_go(conversation: Open) -> None:
    other = replace(conversation.account, name="home")
    conversation.accounts.put(other)
    conversation.keys.set(entry_of(other), "another-key")
    assert await conversation.ask() == "the-first-key"
    conversation.accounts.remove(other)
    assert await conversation.ask() == "the-first-key"


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
