"""Accounts are signed in, give out what goes with their requests, to their own address only, and are signed out."""

import asyncio
import json
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from keyring.backends import fail
from msgspec.structs import replace

from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.base.errors import CredentialsError, UnsafeSettingsError, UsageError
from desktop_agent.core.models.account import Account, usual_account
from desktop_agent.core.protocol.model import ModelRef
from desktop_agent.core.providers.auth.accounts import AccountsFile
from desktop_agent.core.providers.auth.keys import SystemKeyStore, resolve_key
from desktop_agent.core.providers.auth.sign_ins import SignIns, SignInServices
from desktop_agent.core.providers.auth.token_renewal import SignedOutError
from desktop_agent.core.providers.auth.vendor_sign_ins import CHATGPT
from tests.core.providers.auth.file_keyring import FileKeyring
from tests.core.providers.auth.hand_clock import HandClock
from tests.servers.authorization_server import EMAIL, KEY, AuthorizationServer, query_of
from tests.servers.browser import ClosedBrowser, UserInBrowser, ask


class Installation:
    """The keyring and the files of one installation; `sign_ins` is what a process makes of them."""

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


async def test_a_profile_of_anthropics_tools_is_an_account(here: Installation, tmp_path: Path) -> None:
    folder = tmp_path / "anthropic"
    _write_profile(folder, here.server)
    sign_ins = SignIns(
        SystemKeyStore(here.keyring),
        here.accounts,
        here.data,
        clock=SystemClock(),
        environ={"ANTHROPIC_CONFIG_DIR": str(folder)},
    )
    account = await sign_ins.use_profile("default")
    assert account == Account(provider="anthropic", name="default", address=here.server.url, kind="profile")
    credential = await sign_ins.credential(account)
    headers = await credential.headers()
    assert headers["anthropic-beta"] == "oauth-2025-04-20"
    assert headers["Authorization"].removeprefix("Bearer ") in here.server.secrets
    with pytest.raises(CredentialsError, match="belongs to"):
        await sign_ins.credential(replace(account, address=""))
    kept = (folder / "credentials" / "default.json").read_bytes()
    await sign_ins.sign_out(account)
    assert (folder / "credentials" / "default.json").read_bytes() == kept
    assert here.accounts.load().added == ()


def _locked(keyring: FileKeyring) -> FileKeyring:
    keyring.is_locked = True
    return keyring


def _write_profile(folder: Path, server: AuthorizationServer) -> None:
    tokens = {"access_token": "sk-ant-oat01-old", "refresh_token": server.issue_refresh_token(), "expires_at": 1}
    config = {"authentication": {"type": "user_oauth", "client_id": "c"}, "base_url": server.url}
    for part, content in (("configs", config), ("credentials", tokens)):
        path = folder / part / "default.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(content))
        path.chmod(0o600)
