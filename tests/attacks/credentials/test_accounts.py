"""Keys in the keyring and tokens of accounts appear in no file, output or child process of a session."""

import io
import json
import os
from pathlib import Path

import pytest

from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.providers.auth.accounts import ACCOUNTS_NAME, AccountsFile
from desktop_agent.core.providers.auth.keys import SystemKeyStore
from desktop_agent.core.providers.auth.sign_ins import SignIns, SignInServices
from tests.attacks.credentials.echoes import echoes
from tests.attacks.credentials.world import SPOKEN, World, spying
from tests.memory_keyring import MemoryKeyring, use_keyring
from tests.servers import fault
from tests.servers.authorization_server import AuthorizationServer
from tests.servers.browser import UserInBrowser
from tests.servers.dialects.responses import RESPONSES
from tests.servers.model_server import Exchange, ModelServer
from tests.servers.script import Answer, reply, text
from tests.servers.threaded import serve

ACCOUNT_KEYS = {
    "anthropic": "fallow-Tundra-6613-cobalt-heron",
    "openai": "nectar_Basalt_4090_wren_mosaic",
    "openrouter": "sk-or-v1-7d1f0a5bc2e94f6688aa31c07be5d942",
}


@pytest.fixture(autouse=True)
def keyring(monkeypatch: pytest.MonkeyPatch) -> MemoryKeyring:
    backend = MemoryKeyring()
    use_keyring(monkeypatch, backend)
    return backend


@pytest.mark.parametrize("provider", ACCOUNT_KEYS)
def test_a_key_of_an_account_is_written_nowhere(
    provider: str, world: World, keyring: MemoryKeyring, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = world.secrets["account"] = ACCOUNT_KEYS[provider]
    with serve(*spying(), fault.unauthorized(key), fault.server_error(), dialect=SPOKEN[provider][0]) as server:
        monkeypatch.setattr("sys.stdin", io.StringIO(f"{key}\n"))
        assert world("auth", "set", provider, "--account", "work", "--base-url", server.url).code == 0
        assert key in keyring.entries.values()
        for code in (0, 1, 1):
            assert world.ask(provider, "", "--account", "work").code == code
        assert all(key in exchange.headers["authorization"] for exchange in server.messages)
        world("auth", "status", "--json")
        assert world("auth", "delete", provider, "--account", "work").code == 0


async def test_no_token_of_a_sign_in_is_written(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    async with (
        ModelServer(dialect=RESPONSES) as models,
        AuthorizationServer() as server,
        UserInBrowser() as browser,
    ):
        server.resource = models.url
        services = SignInServices(server.chatgpt(), server.openrouter())
        monkeypatch.setattr("desktop_agent.core.providers.auth.sign_ins.SignInServices", lambda: services)
        account = await sign_ins().sign_in_with_chatgpt(browser)
        first = next(secret for secret in sorted(server.secrets) if secret.startswith("access-token"))
        answers = [*spying(), *(answer for answer in echoes(first) if not _is_401(answer))]
        models.will(*answers, fault.unauthorized(first), reply(text("Renewed.")), fault.unauthorized(first))
        agent = world.agent("openai", None, account.name)
        server.behaviour.grant = {"access_token": "renewed-Estuary-7702-linnet-ochre-vale"}
        await world.ask_again_and_again(agent, len(answers) - len(spying()) + 3)
        assert sent(models.messages) == {first, "renewed-Estuary-7702-linnet-ochre-vale"}
        server.revoke()
        await sign_ins().sign_out(account)
        world.secrets |= {f"sign-in {number}": secret for number, secret in enumerate(sorted(server.secrets))}


async def test_no_token_of_a_profile_is_written(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    access, refresh = "profile-Lagoon-2981-teal-mortar-isle", "profile-Cairn-5540-sorrel-gannet-dune"
    world.secrets |= {"access": access, "refresh": refresh}
    monkeypatch.setenv("ANTHROPIC_CONFIG_DIR", str(tmp_path / "anthropic"))

    async with ModelServer() as models:
        write_profile(tmp_path / "anthropic", models.url, access, refresh)
        account = await sign_ins().use_profile("default")
        answers = [*spying(), *(answer for answer in echoes(access) if not _is_401(answer))]
        models.will(*answers, fault.unauthorized(f"{access} {refresh}"))
        await world.ask_again_and_again(world.agent("anthropic", None, account.name), len(answers) - 2)
        assert sent(models.messages) == {access}


def sign_ins() -> SignIns:
    paths = AppPaths.from_environment(os.environ)
    accounts = AccountsFile(paths.config / ACCOUNTS_NAME)
    return SignIns(SystemKeyStore(), accounts, paths.data, clock=SystemClock(), environ=os.environ)


def write_profile(folder: Path, url: str, access: str, refresh: str) -> None:
    config = {"authentication": {"type": "user_oauth", "client_id": "c"}, "base_url": url}
    tokens = {"access_token": access, "refresh_token": refresh, "expires_at": 4_000_000_000}
    for part, content in (("configs", config), ("credentials", tokens)):
        path = folder / part / "default.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(content))
        path.chmod(0o600)


def sent(exchanges: list[Exchange]) -> set[str]:
    return {exchange.headers["authorization"].removeprefix("Bearer ") for exchange in exchanges}


def _is_401(answer: Answer) -> bool:
    return getattr(answer, "status", None) == 401
