"""A sign-in in a real keyring: saved, renewed, found by the next process, removed at sign-out."""

import gc
import warnings
from collections.abc import Generator
from pathlib import Path

import pytest

from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.base.errors import CredentialsError
from desktop_agent.core.providers.auth.accounts import AccountsFile
from desktop_agent.core.providers.auth.keys import SystemKeyStore
from desktop_agent.core.providers.auth.sign_ins import SignIns, SignInServices
from tests.servers.authorization_server import AuthorizationServer
from tests.servers.browser import UserInBrowser

LONG = "eyJ-" + "a" * 4_000


@pytest.fixture
def connections_of_the_library() -> Generator[None]:
    """Collect the connections that `keyring` leaves behind here, before another test is blamed for them."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


@pytest.mark.usefixtures("connections_of_the_library")
async def test_a_real_keyring_keeps_renews_and_forgets_a_sign_in(gnome_keyring: None, tmp_path: Path) -> None:
    async with (
        AuthorizationServer(grant={"access_token": LONG, "expires_in": 60}) as server,
        UserInBrowser() as browser,
    ):

        def process() -> SignIns:
            accounts = AccountsFile(tmp_path / "accounts.toml")
            services = SignInServices(server.chatgpt(), server.openrouter())
            return SignIns(SystemKeyStore(), accounts, tmp_path / "data", clock=SystemClock(), services=services)

        account = await process().sign_in_with_chatgpt(browser)
        server.behaviour.grant = {"access_token": f"{LONG}-renewed"}
        for _ in range(2):
            credential = await process().credential(account)
            assert (await credential.headers())["Authorization"] == f"Bearer {LONG}-renewed"
        assert len(server.token_requests) == 2
        await process().sign_out(account)
        with pytest.raises(CredentialsError, match="You are not signed in"):
            await process().credential(account)
        kept = [file.read_bytes() for file in (tmp_path / "data").rglob("*") if file.is_file()]
        assert not any(secret.encode() in content for secret in server.secrets for content in kept)
