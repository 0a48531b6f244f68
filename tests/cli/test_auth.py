"""`desktop-agent auth`: accounts are added, listed and removed, and no key is ever shown."""

import io
import os
from pathlib import Path

import pytest
from keyring.errors import KeyringLocked

from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.models.account import Account
from desktop_agent.core.providers.auth.accounts import AccountsFile
from desktop_agent.core.settings.settings_file import save_setting
from tests.command_line import CommandLine, Ran
from tests.memory_keyring import BrokenKeyring, MemoryKeyring, use_keyring
from tests.servers.dialects.local import OLLAMA
from tests.servers.threaded import serve

KEY = "sk-ant-test-0123456789abcdef"
GATEWAY = "https://models.example"


class Auth(CommandLine):
    def __init__(self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(capsys)
        self._monkeypatch = monkeypatch

    def __call__(self, *arguments: str | Path, key: str = KEY) -> Ran:
        self._monkeypatch.setattr("sys.stdin", io.StringIO(f"{key}\n"))
        ran = super().__call__("auth", *arguments)
        assert not key or key not in ran.out + ran.err
        return ran

    @property
    def accounts(self) -> dict[str, dict[str, str | None]]:
        told = self("status", "--json").json["providers"]
        return {account["account"]: account for account in told if account["provider"] == "anthropic"}


@pytest.fixture
def auth(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, backend: MemoryKeyring) -> Auth:
    return Auth(capsys, monkeypatch)


@pytest.fixture
def paths() -> AppPaths:
    return AppPaths.from_environment(os.environ)


def test_the_usual_account_needs_no_name_and_no_file(auth: Auth, backend: MemoryKeyring, paths: AppPaths) -> None:
    assert auth("set", "anthropic", "--json").json == {
        "provider": "anthropic", "account": "", "source": "keyring", "address": "https://api.anthropic.com",
        "kind": "key", "address_from": "", "proxy": "", "cloud": {},
    }  # fmt: skip
    assert backend.entries == {("desktop-agent", "anthropic"): KEY}
    assert not (paths.config / "accounts.toml").exists()
    assert auth.accounts[""]["source"] == "keyring"
    assert auth("delete", "anthropic").code == 0
    assert backend.entries == {}


def test_two_accounts_have_their_own_keys_and_addresses(auth: Auth, backend: MemoryKeyring) -> None:
    auth("set", "anthropic")
    said = auth("set", "anthropic", "--account", "Work", "--base-url", GATEWAY, key="sk-ant-other-0123456789")
    assert said.code == 0
    assert f"sent to {GATEWAY}" in said.out
    told = auth.accounts
    assert [(account["source"], account["address"]) for account in told.values()] == [
        ("keyring", "https://api.anthropic.com"),
        ("keyring", GATEWAY),
    ]
    assert set(backend.entries.values()) == {KEY, "sk-ant-other-0123456789"}
    lines = auth("status").out.splitlines()
    assert "Work" in lines[1]
    assert GATEWAY in lines[1]
    auth("delete", "anthropic", "--account", "work")
    assert list(auth.accounts) == [""]
    assert list(backend.entries.values()) == [KEY]


def test_how_a_key_travels_is_kept_with_the_account(auth: Auth, paths: AppPaths) -> None:
    auth("set", "anthropic", "--account", "work", "--header", "x-api-key")
    auth("set", "anthropic", "--account", "work", key="another-key")
    assert 'header = "x-api-key"' in (paths.config / "accounts.toml").read_text()
    auth("set", "anthropic", "--account", "work", "--header", "bearer")
    assert "header" not in (paths.config / "accounts.toml").read_text()


def test_a_local_server_needs_no_key_and_may_have_one(auth: Auth) -> None:
    def ollama() -> tuple[str, str | None]:
        (told,) = (told for told in auth("status", "--json").json["providers"] if told["provider"] == "ollama")
        return told["kind"], told["source"]

    assert ollama() == ("none", None)
    auth("set", "ollama")
    assert ollama() == ("key", "keyring")
    auth("delete", "ollama")
    assert ollama() == ("none", None)


@pytest.mark.usefixtures("patient_looks")
def test_it_says_whether_local_servers_run_and_with_which_models(auth: Auth, paths: AppPaths) -> None:
    with serve(dialect=OLLAMA, asks_for_key=False) as server:
        save_setting(paths.settings_file(), "model.provider", "ollama")
        save_setting(paths.settings_file(), "model.base_url", server.url)
        told = {each["provider"]: each["server"] for each in auth("status", "--json").json["providers"]}
        lines = auth("status").out.splitlines()
    assert told["anthropic"] is None
    assert told["ollama"] == {
        "state": "running",
        "models": ["qwen3:8b"],
        "message": f"Ollama runs on 127.0.0.1:{server.port}, with one model.",
        "hint": "",
    }
    assert told["ollama"]["message"] in lines


def test_a_server_of_another_machine_is_not_asked(auth: Auth, paths: AppPaths) -> None:
    save_setting(paths.settings_file(), "model.provider", "ollama")
    save_setting(paths.settings_file(), "model.base_url", "http://models.example:11434/v1")
    told = {each["provider"]: each["server"] for each in auth("status", "--json").json["providers"]}
    assert told["ollama"] is None


def test_the_key_of_an_address_that_was_changed_is_forgotten(auth: Auth, backend: MemoryKeyring) -> None:
    auth("set", "anthropic", "--account", "work", "--base-url", GATEWAY)
    auth("set", "anthropic", "--account", "work", "--base-url", "https://other.example", key="another-key")
    assert list(backend.entries.values()) == ["another-key"]
    assert auth.accounts["work"]["address"] == "https://other.example"
    auth("set", "anthropic", "--account", "work", key="a-third-key")
    assert auth.accounts["work"]["address"] == "https://other.example"


def test_it_says_which_account_new_sessions_have(auth: Auth, paths: AppPaths) -> None:
    auth("set", "anthropic", "--account", "work")
    assert [account["used_for"] for account in auth.accounts.values()] == ["new sessions", ""]
    save_setting(paths.settings_file(), "model.account", "Work")
    assert [account["used_for"] for account in auth.accounts.values()] == ["", "new sessions"]


def test_it_says_where_the_usual_account_goes(auth: Auth, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", GATEWAY)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    auth("set", "anthropic", "--account", "work", key="another-key")
    told = auth.accounts
    assert (told[""]["source"], told[""]["address"]) == ("environment", GATEWAY)
    assert (told[""]["address_from"], told["work"]["address_from"]) == ("ANTHROPIC_BASE_URL", "")
    assert f"{GATEWAY} (from ANTHROPIC_BASE_URL)" in auth("status").out
    assert f"It is sent to {GATEWAY} (from ANTHROPIC_BASE_URL)." in auth("set", "anthropic").out
    assert (told["work"]["source"], told["work"]["address"]) == ("keyring", "https://api.anthropic.com")


def test_it_says_through_which_proxy(auth: Auth, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "http://user:secret@proxy.example:3128")
    told = auth("status").out
    assert "https://api.anthropic.com, through the proxy http://proxy.example:3128 (from https_proxy)" in told
    assert "secret" not in told


def test_an_address_without_a_scheme_is_completed(auth: Auth) -> None:
    ran = auth("set", "anthropic", "--account", "a", "--base-url", "models.example", key="the-typed-key")
    assert ran.code == 0
    assert "It is sent to https://models.example (the account's own)." in ran.out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["set", "nope"], "no provider"),
        (["set", "demo"], "no provider"),
        (["set", "anthropic", "--base-url", GATEWAY], "no address of its own"),
        (["set", "anthropic", "--account", "two words"], "letters"),
        (["set", "anthropic", "--account", KEY], "looks like a key"),
        (["set", "anthropic", "--account", "a", "--base-url", "ftp://models.example"], "begin with https://"),
        (["set", "anthropic", "--account", "a", "--base-url", "https://me:pw@models.example"], "password"),
        (["delete", "anthropic", "--account", "work"], "Available: usual"),
        (["set", "anthropic", "--region", "eu-central-1"], "anthropic has no region"),
        (["set", "bedrock", "--project", "p"], "bedrock has no project; it has region, profile"),
        (["set", "aws", "--region", "two words"], "region must be letters"),
        (["set", "vertex"], "takes no key"),
        (["sign-in", "bedrock", "--resource", "r"], "bedrock has no resource"),
        (["sign-in", "openai", "--region", "eu-central-1"], "openai has no region"),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_is_kept(
    auth: Auth, backend: MemoryKeyring, paths: AppPaths, arguments: list[str], says: str
) -> None:
    ran = auth(*arguments, key="the-typed-key")
    assert ran.code == 2
    assert says in ran.err
    assert KEY not in ran.err
    assert backend.entries == {}
    assert not (paths.config / "accounts.toml").exists()


@pytest.mark.parametrize("options", [[], ["--base-url", GATEWAY]])
def test_an_account_that_signed_in_is_not_made_one_with_a_key(
    auth: Auth, backend: MemoryKeyring, paths: AppPaths, options: list[str]
) -> None:
    AccountsFile(paths.config / "accounts.toml").put(Account(provider="openai", name="chatgpt", kind="oauth"))
    ran = auth("set", "openai", "--account", "ChatGPT", *options)
    assert ran.code == 2
    assert "is signed in" in ran.err
    assert "auth sign-out openai --account chatgpt" in ran.err, "or its tokens would lie in the keyring for good"
    assert backend.entries == {}
    (account,) = AccountsFile(paths.config / "accounts.toml").load().added
    assert account.kind == "oauth"


def test_a_cloud_has_a_key_with_what_it_must_know(
    auth: Auth, backend: MemoryKeyring, paths: AppPaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = auth("set", "bedrock", "--account", "work", "--region", "eu-central-1", "--json").json
    assert (said["kind"], said["cloud"]) == ("key", {"region": "eu-central-1"})
    assert said["address"] == "https://bedrock-runtime.eu-central-1.amazonaws.com"
    assert backend.entries == {("desktop-agent", "bedrock:work"): KEY}
    auth("set", "bedrock", "--account", "work", "--region", "")
    auth("set", "foundry", "--resource", "mine", key="a-key-of-the-resource")
    work, usual = AccountsFile(paths.config / "accounts.toml").load().added
    assert (work.kind, work.cloud) == ("key", {})
    assert (usual.kind, usual.cloud) == ("key", {"resource": "mine"})
    told = status_of(auth, "foundry")
    assert (told["source"], told["identity"]) == ("keyring", f"an API key, at {usual.where}")
    assert auth("sign-in", "foundry").code == 2, "or the key would lie in the keyring for good"
    auth("delete", "foundry")
    monkeypatch.setenv("ANTHROPIC_FOUNDRY_RESOURCE", "of-the-environment")
    auth("set", "foundry", key="a-key-of-the-resource")
    auth("set", "foundry", "--account", "work", key="a-key-of-the-resource")
    monkeypatch.setenv("ANTHROPIC_FOUNDRY_BASE_URL", GATEWAY)
    told = [each["identity"] for each in auth("status", "--json").json["providers"] if each["provider"] == "foundry"]
    of_environment = "https://of-the-environment.services.ai.azure.com/anthropic"
    assert told == [f"an API key, at {GATEWAY}", f"an API key, at {of_environment}"]
    monkeypatch.delenv("ANTHROPIC_FOUNDRY_BASE_URL")
    auth("delete", "foundry")
    assert status_of(auth, "foundry")["kind"] == "profile"


def test_an_account_uses_what_the_clouds_own_tools_signed_in(
    auth: Auth, paths: AppPaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIATESTTESTTEST1234")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "a-secret-of-the-test-0123456789")
    asked_as = "AWS access key …1234 (env), region eu-west-1, at https://bedrock-runtime.eu-west-1.amazonaws.com"
    ran = auth("sign-in", "bedrock", "--account", "work", "--region", "eu-west-1")
    assert (ran.code, ran.err) == (0, "")
    assert f"It is asked as {asked_as}." in ran.out
    assert "--provider bedrock --account work" in ran.out
    (account,) = AccountsFile(paths.config / "accounts.toml").load().added
    assert account == Account(provider="bedrock", name="work", kind="profile", cloud={"region": "eu-west-1"})
    shown = auth("status")
    assert f"Amazon Bedrock (work): {asked_as}" in shown.out.splitlines()
    assert "a-secret-of-the-test" not in shown.out
    assert auth("sign-out", "bedrock").code == 0
    assert AccountsFile(paths.config / "accounts.toml").load().added == ()
    assert auth("sign-out", "bedrock").code == 2


def test_who_is_asked_is_looked_up_for_the_chosen_cloud_only(
    auth: Auth, paths: AppPaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    save_setting(paths.settings_file(), "model.provider", "bedrock")
    told = status_of(auth, "bedrock")
    assert told["identity"] == ""
    assert "no usable credentials for Amazon Bedrock" in str(told["problem"])
    assert "aws sso login" in str(told["problem"])
    assert (status_of(auth, "aws")["identity"], status_of(auth, "aws")["problem"]) == ("", "")
    checks = {check["name"]: check for check in CommandLine.__call__(auth, "doctor", "--json").json["checks"]}
    assert checks["credentials"]["state"] == "warning"
    assert "aws sso login" in checks["credentials"]["hint"]


def status_of(auth: Auth, provider: str) -> dict[str, object]:
    told = auth("status", "--json").json["providers"]
    return next(account for account in told if account["provider"] == provider)


def test_a_keyring_that_keeps_nothing_adds_no_account(
    auth: Auth, monkeypatch: pytest.MonkeyPatch, paths: AppPaths
) -> None:
    use_keyring(monkeypatch, BrokenKeyring(KeyringLocked("locked")))
    ran = auth("set", "anthropic", "--account", "work")
    assert ran.code == 1
    assert "locked" in ran.err
    assert not (paths.config / "accounts.toml").exists()


@pytest.mark.parametrize("action", [["status"], ["set", "anthropic"], ["delete", "anthropic"], ["doctor"]])
def test_a_broken_file_stops_everything_and_is_named_with_its_line(
    auth: Auth, backend: MemoryKeyring, paths: AppPaths, action: list[str]
) -> None:
    paths.config.mkdir(parents=True)
    (paths.config / "accounts.toml").write_text('[[account]]\nprovider = "antropic"\n')
    ran = auth(*action) if action != ["doctor"] else CommandLine.__call__(auth, "doctor")
    assert ran.code == (2 if action != ["doctor"] else 1)
    assert "accounts.toml:1: account 1: provider must be one of anthropic" in ran.out + ran.err
    assert backend.entries == {}
