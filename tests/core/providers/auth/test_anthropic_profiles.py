"""Profiles of Anthropic's own tools: read as by their SDK, and renewed."""

import json
import os
import time
from collections.abc import AsyncGenerator, Callable
from datetime import timedelta
from pathlib import Path
from typing import cast

import anthropic
import httpx2
import pytest

from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.base.errors import CredentialsError, ProviderError
from desktop_agent.core.providers.auth.anthropic_profiles import (
    CredentialsFile,
    active_name,
    config_folder,
    profiles,
    read_profile,
    request_headers,
    token_source,
)
from desktop_agent.core.providers.auth.token_renewal import SignedOutError, TokenSource, renewing
from desktop_agent.core.providers.auth.tokens import Tokens
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


def test_a_profile_says_where_its_requests_and_its_tokens_are(folder: Path, write: Write) -> None:
    write("work", base_url="https://api.example.com/", workspace_id="wrkspc_1", organization_id="org_1")
    profile = read_profile("work")
    assert profile.base_url == "https://api.example.com"
    assert profile.workspace_id == "wrkspc_1"
    assert profile.client_id == "c"
    assert profile.credentials_path == folder / "credentials" / "work.json"


def test_the_environment_fills_in_what_the_file_leaves_out(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "https://gateway.example")
    monkeypatch.setenv("ANTHROPIC_WORKSPACE_ID", "wrkspc_env")
    write("bare")
    write("full", base_url="https://api.example.com", workspace_id="wrkspc_1")
    assert (read_profile("bare").base_url, read_profile("bare").workspace_id) == (
        "https://gateway.example",
        "wrkspc_env",
    )
    assert (read_profile("full").base_url, read_profile("full").workspace_id) == ("https://api.example.com", "wrkspc_1")


def test_tokens_may_be_elsewhere(write: Write) -> None:
    write("work", authentication={"type": "user_oauth", "credentials_path": "~/tokens.json"})
    assert read_profile("work").credentials_path == Path.home() / "tokens.json"
    assert read_profile("work").client_id == ""


@pytest.mark.parametrize(
    "fields",
    [
        {"authentication": {"type": "oidc_federation"}},
        {"authentication": {}},
        {"authentication": "user_oauth"},
        {"base_url": "http://api.example.com"},
        {"base_url": "https://user:password@api.example.com"},
        {"base_url": "ftp://api.example.com"},
        {"base_url": "api.example.com"},
    ],
)
def test_a_profile_that_cannot_be_used_is_left_out_and_explained(write: Write, fields: dict[str, object]) -> None:
    write("broken", **fields)
    write("work")
    assert [profile.name for profile in profiles()] == ["work"]
    with pytest.raises(CredentialsError, match="'broken' cannot be used") as caught:
        read_profile("broken")
    assert caught.value.detail


@pytest.mark.parametrize("text", ["", "{", "[]", '{"authentication": null}'])
def test_a_file_that_is_no_profile_is_left_out(write: Write, text: str) -> None:
    write("broken").write_text(text)
    assert profiles() == ()


@pytest.mark.skipif(os.name == "nt", reason="modes say nothing there")
def test_a_profile_that_others_can_write_is_not_believed(write: Write) -> None:
    write("open", mode=0o666)
    assert profiles() == ()
    with pytest.raises(CredentialsError) as caught:
        read_profile("open")
    assert "chmod go-w" in caught.value.detail


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


HOUR_S = 3600


class SignedInTool:
    def __init__(self, folder: Path, server: AuthorizationServer) -> None:
        self.folder = folder
        self.server = server

    def sign_in(self, *, good_for_s: int = HOUR_S, client_id: str | None = "ant-client", **fields: object) -> str:
        authentication = {"type": "user_oauth"} | ({"client_id": client_id} if client_id is not None else {})
        config = {"authentication": authentication, "base_url": self.server.url, "workspace_id": "wrkspc_1"}
        tokens = {
            "type": "oauth_token",
            "access_token": "sk-ant-oat01-first",
            "refresh_token": self.server.issue_refresh_token(),
            "expires_at": int(time.time()) + good_for_s,
            "of_another_version": [1, 2],
        }
        for part, content, mode in (("configs", config, 0o644), ("credentials", tokens | fields, 0o600)):
            path = self.folder / part / "default.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(content))
            path.chmod(mode)
        return cast("str", tokens["access_token"])

    @property
    def file(self) -> Path:
        return self.folder / "credentials" / "default.json"

    @property
    def fields(self) -> dict[str, object]:
        return cast("dict[str, object]", json.loads(self.file.read_text()))

    def source(self) -> TokenSource:
        clock = SystemClock()
        lock = self.folder / "default.lock"
        return token_source(read_profile("default"), lock=lambda: renewing(lock, clock), clock=clock)

    async def sdk_headers(self) -> httpx2.Headers:
        sent: list[httpx2.Headers] = []

        def answer(request: httpx2.Request) -> httpx2.Response:
            sent.append(request.headers)
            return httpx2.Response(200, json={"data": [], "has_more": False})

        transport = httpx2.MockTransport(answer)
        async with anthropic.AsyncAnthropic(http_client=httpx2.AsyncClient(transport=transport)) as client:
            await client.models.list()
        return sent[0]


@pytest.fixture
async def here(folder: Path) -> AsyncGenerator[SignedInTool]:
    async with AuthorizationServer() as server:
        yield SignedInTool(folder, server)


async def test_a_request_says_what_the_sdk_says(here: SignedInTool) -> None:
    here.sign_in()
    theirs = await here.sdk_headers()
    token = await here.source().access_token()
    ours = {"authorization": f"Bearer {token}", **request_headers(read_profile("default"))}
    assert ours == {name: theirs[name] for name in ("authorization", "anthropic-beta", "anthropic-workspace-id")}
    assert here.server.token_requests == []


async def test_a_renewal_is_the_request_that_the_sdk_makes(here: SignedInTool) -> None:
    here.sign_in(good_for_s=-1)
    await here.source().access_token()
    after_ours = here.fields
    here.sign_in(good_for_s=-1)
    await here.sdk_headers()
    after_theirs = here.fields
    ours, theirs = here.server.token_requests
    assert {**ours, "refresh_token": ""} == {**theirs, "refresh_token": ""}
    our_headers, their_headers = here.server.token_headers
    for name in ("content-type", "anthropic-beta"):
        assert our_headers[name] == their_headers[name]
    assert after_ours.keys() == after_theirs.keys()
    assert {name: type(value) for name, value in after_ours.items()} == {
        name: type(value) for name, value in after_theirs.items()
    }


async def test_what_is_renewed_here_is_what_the_sdk_uses_then(here: SignedInTool) -> None:
    here.sign_in(good_for_s=-1)
    token = await here.source().access_token()
    assert (await here.sdk_headers())["authorization"] == f"Bearer {token}"
    assert len(here.server.token_requests) == 1
    assert here.fields["of_another_version"] == [1, 2]
    if os.name == "posix":
        assert here.file.stat().st_mode & 0o777 == 0o600


async def test_what_the_sdk_renewed_is_used_here(here: SignedInTool) -> None:
    first = here.sign_in(good_for_s=-1)
    theirs = (await here.sdk_headers())["authorization"].removeprefix("Bearer ")
    assert await here.source().access_token() == theirs != first
    assert len(here.server.token_requests) == 1


async def test_a_refused_token_is_renewed_unless_the_file_has_another_by_now(here: SignedInTool) -> None:
    first = here.sign_in()
    source = here.source()
    assert await source.access_token() == first
    here.sign_in(access_token="sk-ant-oat01-of-the-sdk")
    assert await source.refused(first) == "sk-ant-oat01-of-the-sdk"
    assert here.server.token_requests == []
    assert await source.refused("sk-ant-oat01-of-the-sdk") != first
    assert len(here.server.token_requests) == 1


async def test_a_sign_in_that_is_over_leaves_the_file_alone(here: SignedInTool) -> None:
    here.sign_in(good_for_s=-1)
    before = here.file.read_bytes()
    here.server.revoke()
    with pytest.raises(SignedOutError) as caught:
        await here.source().access_token()
    assert "ant auth login" in caught.value.hint
    assert here.file.read_bytes() == before


async def test_an_answer_that_does_not_say_how_long_is_good_for_an_hour(here: SignedInTool) -> None:
    here.server.behaviour.grant = {"expires_in": None}
    here.sign_in(good_for_s=-1)
    await here.source().access_token()
    assert time.time() < cast("int", here.fields["expires_at"]) <= time.time() + HOUR_S


async def test_without_a_client_id_another_program_renews_it(here: SignedInTool) -> None:
    first = here.sign_in(client_id=None, good_for_s=-1)
    source = here.source()
    assert await source.access_token() == first
    with pytest.raises(CredentialsError, match="does not take the token"):
        await source.refused(first)
    here.sign_in(client_id=None, access_token="sk-ant-oat01-second")
    assert await source.refused(first) == "sk-ant-oat01-second"
    assert await source.access_token() == "sk-ant-oat01-second"
    here.file.unlink()
    with pytest.raises(CredentialsError, match="does not take the token"):
        await source.access_token()
    assert here.server.token_requests == []


async def test_an_outage_is_no_end(here: SignedInTool) -> None:
    here.server.behaviour.token_answer = (503, "")
    here.sign_in(good_for_s=-1)
    with pytest.raises(ProviderError):
        await here.source().access_token()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "no JSON object"),
        ("[]", "no JSON object"),
        ('{"type": "private_key"}', "another kind"),
        ('{"access_token": ""}', "no access_token"),
        ('{"access_token": "t-secret", "expires_at": "2026-11-21T00:00:00Z"}', "no number of seconds"),
        ('{"access_token": "t-secret", "expires_at": 1e300}', "no number of seconds"),
    ],
)
async def test_a_file_that_cannot_be_used_is_explained_without_what_is_in_it(
    here: SignedInTool, text: str, why: str
) -> None:
    here.sign_in()
    here.file.write_text(text)
    with pytest.raises(CredentialsError) as caught:
        await here.source().access_token()
    assert why in caught.value.detail
    assert "t-secret" not in f"{caught.value!r}{caught.value.detail}"


@pytest.mark.skipif(os.name == "nt", reason="modes say nothing there")
async def test_links_and_files_that_others_can_read_are_refused_as_the_sdk_refuses_them(here: SignedInTool) -> None:
    here.sign_in()
    here.file.chmod(0o640)
    for why in ("others can read it", "a link"):
        with pytest.raises(CredentialsError) as caught:
            await here.source().access_token()
        assert why in caught.value.detail
        with pytest.raises(anthropic.AnthropicError):
            await here.sdk_headers()
        here.file.rename(here.folder / "tokens.json")
        here.file.symlink_to(here.folder / "tokens.json")


async def test_tokens_that_cannot_be_written_are_explained(here: SignedInTool) -> None:
    here.sign_in()
    file = CredentialsFile(read_profile("default"))
    here.file.unlink()
    here.file.parent.rmdir()
    here.file.parent.write_text("a file")
    with pytest.raises(CredentialsError, match="cannot be used"):
        await file.keep(Tokens(access="a", refresh="r", expires_at=SystemClock().now() + timedelta(hours=1)))
