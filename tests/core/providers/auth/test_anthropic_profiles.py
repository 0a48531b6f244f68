"""Profiles of Anthropic's own tools: found by us, read and renewed by their SDK."""

import json
import os
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from pathlib import Path

import pytest

from desktop_agent.core.base.errors import CredentialsError, ProviderError
from desktop_agent.core.models.account import Account
from desktop_agent.core.providers.auth.anthropic_profiles import active_name, config_folder, profiles, read_profile
from desktop_agent.core.providers.auth.credential import NoCredential
from desktop_agent.core.providers.provider_catalog import account_provider, sdk_connection
from tests.servers.authorization_server import AuthorizationServer

Write = Callable[..., Path]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ANTHROPIC_CONFIG_DIR", str(tmp_path / "anthropic"))
    return tmp_path / "anthropic"


@pytest.fixture
def write(folder: Path) -> Write:
    def written(name: str, mode: int = 0o644, **fields: object) -> Path:
        path = folder / "configs" / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"authentication": {"type": "user_oauth", "client_id": "c"}} | fields))
        path.chmod(mode)
        return path

    return written


def test_without_a_folder_there_are_none(folder: Path) -> None:
    assert profiles() == ()
    assert active_name() == "default"


def test_the_active_profile_comes_first(folder: Path, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("default", "home", "work"):
        write(name)
    assert [profile.name for profile in profiles()] == ["default", "home", "work"]
    (folder / "active_config").write_text("work\n")
    assert [profile.name for profile in profiles()] == ["work", "default", "home"]
    monkeypatch.setenv("ANTHROPIC_PROFILE", "home")
    assert [profile.name for profile in profiles()] == ["home", "default", "work"]


def test_a_profile_says_where_its_requests_go(write: Write) -> None:
    write("work", base_url="https://api.example.com/", workspace_id="wrkspc_1", organization_id="org_1")
    write("runner", authentication={"type": "oidc_federation"})
    assert [profile.base_url for profile in profiles()] == ["", "https://api.example.com"]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"authentication": null}'])
def test_a_file_that_is_no_profile_is_left_out(write: Write, text: str) -> None:
    write("broken").write_text(text)
    assert profiles() == ()


@pytest.mark.parametrize("name", ["", "..", ".hidden", "a/b", "a\\b", "../x", " x", "x\0"])
def test_a_name_is_no_path(folder: Path, name: str) -> None:
    with pytest.raises(CredentialsError, match="cannot be used"):
        read_profile(name)


def test_a_profile_that_is_not_there_is_named(folder: Path) -> None:
    with pytest.raises(CredentialsError) as caught:
        read_profile("gone")
    assert "gone.json" in caught.value.detail
    assert "ant auth login" in caught.value.hint


@pytest.mark.parametrize(
    ("platform", "environ", "ending"),
    [
        ("linux", {}, ".config/anthropic"),
        ("darwin", {}, ".config/anthropic"),
        ("win32", {"APPDATA": "/roaming"}, "/roaming/Anthropic"),
        ("win32", {}, "AppData/Roaming/Anthropic"),
        ("linux", {"ANTHROPIC_CONFIG_DIR": "/elsewhere"}, "/elsewhere"),
    ],
)
def test_the_folder_is_the_one_of_the_platform(
    monkeypatch: pytest.MonkeyPatch, platform: str, environ: dict[str, str], ending: str
) -> None:
    monkeypatch.setattr("sys.platform", platform)
    assert config_folder(environ).as_posix().endswith(ending)


class SignedInTool:
    """Anthropic's tool, which signed in at a server that is also asked for models."""

    def __init__(self, folder: Path, server: AuthorizationServer) -> None:
        self.folder = folder
        self.server = server

    def sign_in(self, *, ends_in_s: int = 3600, **fields: object) -> str:
        authentication = {"type": "user_oauth", "client_id": "ant-client"}
        config = {"authentication": authentication, "base_url": self.server.url, "workspace_id": "wrkspc_1"}
        tokens = {
            "type": "oauth_token",
            "access_token": "sk-ant-oat01-first",
            "refresh_token": self.server.issue_refresh_token(),
            "expires_at": int(time.time()) + ends_in_s,
        }
        self.server.secrets.add("sk-ant-oat01-first")
        self.write("configs", config | fields, 0o644)
        self.write("credentials", tokens, 0o600)
        return "sk-ant-oat01-first"

    def write(self, part: str, content: object, mode: int) -> None:
        path = self.folder / part / "default.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content))
        path.chmod(mode)

    async def list_models(self, name: str = "default") -> None:
        account = Account(provider="anthropic", name=name, address=self.server.url, kind="profile")
        provider = account_provider(account, NoCredential(), sdk=sdk_connection(account, os.environ))
        async with aclosing(provider):
            await provider.list_models()

    @property
    def token_in_file(self) -> str:
        return json.loads((self.folder / "credentials" / "default.json").read_text())["access_token"]

    @property
    def sent(self) -> list[str]:
        return [headers["authorization"].removeprefix("Bearer ") for headers in self.server.requests]


@pytest.fixture
async def here(folder: Path) -> AsyncGenerator[SignedInTool]:
    async with AuthorizationServer() as server:
        yield SignedInTool(folder, server)


async def test_requests_have_the_token_and_the_headers_of_the_profile(here: SignedInTool) -> None:
    token = here.sign_in()
    await here.list_models()
    assert here.sent == [token]
    assert here.server.requests[0]["anthropic-beta"] == "oauth-2025-04-20"
    assert here.server.requests[0]["anthropic-workspace-id"] == "wrkspc_1"
    assert here.server.token_requests == []


async def test_an_expired_token_is_renewed_in_the_file_of_the_tool(here: SignedInTool) -> None:
    first = here.sign_in(ends_in_s=-1)
    await here.list_models()
    assert here.sent == [here.token_in_file]
    assert here.sent != [first]
    assert [request["grant_type"] for request in here.server.token_requests] == ["refresh_token"]


async def test_a_refused_token_is_renewed_once(here: SignedInTool) -> None:
    first = here.sign_in()
    here.server.refused.add(first)
    await here.list_models()
    assert here.sent == [first, here.token_in_file]
    here.server.refused |= here.server.secrets
    here.server.behaviour.grant = {"access_token": first}
    with pytest.raises(ProviderError) as caught:
        await here.list_models()
    assert caught.value.fault == "authentication"
    assert len(here.sent) == 4


@pytest.mark.parametrize("has_profile", [True, False])
async def test_a_workload_signs_in_by_federation(
    here: SignedInTool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_profile: bool
) -> None:
    token = tmp_path / "identity-token"
    token.write_text("header.of-a-workload.signature")
    here.server.secrets.add("header.of-a-workload.signature")
    if has_profile:
        source = {"source": "file", "path": str(token)}
        how = {"type": "oidc_federation", "federation_rule_id": "fdrl_1", "identity_token": source}
        here.sign_in(authentication=how, organization_id="org_1", ends_in_s=-1)
    else:
        monkeypatch.setenv("ANTHROPIC_FEDERATION_RULE_ID", "fdrl_1")
        monkeypatch.setenv("ANTHROPIC_ORGANIZATION_ID", "org_1")
        monkeypatch.setenv("ANTHROPIC_IDENTITY_TOKEN_FILE", str(token))
    await here.list_models("default" if has_profile else "")
    assert here.sent[0] in here.server.secrets
    assert [request["federation_rule_id"] for request in here.server.token_requests] == ["fdrl_1"]


Spoil = Callable[[SignedInTool], object]


def _end_sign_in(here: SignedInTool) -> None:
    here.server.revoke()


def _break_endpoint(here: SignedInTool) -> None:
    here.server.behaviour.token_answer = (503, "")


def _open_file(here: SignedInTool) -> None:
    here.write("credentials", {}, 0o644)
    (here.folder / "credentials" / "default.json").chmod(0o644)


def _move(here: SignedInTool) -> None:
    here.sign_in(base_url="http://127.0.0.1:9")


@pytest.mark.parametrize(
    ("spoil", "fault", "words"),
    [
        (_end_sign_in, "authentication", "HTTP 400"),
        (_break_endpoint, "network", "503"),
        pytest.param(
            _open_file, "authentication", "chmod 600", marks=pytest.mark.skipif(os.name == "nt", reason="no modes")
        ),
        (_move, "authentication", "Sign out of the account and in again"),
    ],
)
async def test_what_goes_wrong_is_explained_without_the_tokens(
    here: SignedInTool, spoil: Spoil, fault: str, words: str
) -> None:
    here.sign_in(ends_in_s=-1)
    spoil(here)
    with pytest.raises(ProviderError) as caught:
        await here.list_models()
    assert caught.value.fault == fault
    assert words in f"{caught.value.hint} {caught.value.detail}"
    assert not any(secret in f"{caught.value!r}{caught.value.detail}" for secret in here.server.secrets)
    assert here.server.requests == []


async def test_without_a_profile_of_this_name_it_says_how_to_make_one(folder: Path) -> None:
    async with AuthorizationServer() as server:
        with pytest.raises(ProviderError) as caught:
            await SignedInTool(folder, server).list_models()
    assert "ant auth login" in caught.value.hint
    assert "default.json" in caught.value.detail
