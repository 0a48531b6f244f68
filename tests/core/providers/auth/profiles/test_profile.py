"""Which profiles of Anthropic's tools are offered: those that the SDK would read, by the SDK's own rules."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from desktop_agent.core.base.errors import CredentialsError
from desktop_agent.core.providers.auth.anthropic_profiles import active_name, config_folder, profiles, read_profile

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
