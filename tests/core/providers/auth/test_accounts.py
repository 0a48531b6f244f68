"""Accounts and keys: saved in the file or the keyring, and shown nowhere else."""

from pathlib import Path

import keyring
import pytest
from keyring.backend import KeyringBackend
from keyring.backends import fail, null
from keyring.errors import InitError, KeyringLocked, PasswordSetError
from msgspec.structs import replace

from desktop_agent.core.base.errors import CredentialsError, UnsafeSettingsError, UsageError
from desktop_agent.core.models.account import Account, usual_account
from desktop_agent.core.models.vendors import VENDORS, Vendor
from desktop_agent.core.protocol.model import ModelRef
from desktop_agent.core.providers.auth.accounts import AccountsFile, LoadedAccounts
from desktop_agent.core.providers.auth.keys import ResolvedKey, SystemKeyStore, entry_of, resolve_key
from desktop_agent.core.providers.auth.sign_ins import other_sign_ins
from tests.memory_keyring import BrokenKeyring, MemoryKeyring, use_keyring

KEY = "sk-ant-test-0123456789abcdef"
WORK = Account(
    provider="anthropic", name="work", address="https://models.example", header="x-api-key", headers={"X-Team": "a"}
)
HOME = Account(provider="anthropic", name="home")
GPU = Account(provider="ollama", name="gpu", address="http://10.0.0.9:11434/v1", kind="key")


@pytest.fixture
def file(tmp_path: Path) -> AccountsFile:
    return AccountsFile(tmp_path / "config" / "accounts.toml")


def _write(file: AccountsFile, text: str) -> None:
    file.path.parent.mkdir(parents=True, exist_ok=True)
    file.path.write_text(text, encoding="utf-8")


def _model(account: str = "", base_url: str | None = None) -> ModelRef:
    return ModelRef(provider="anthropic", model="m", base_url=base_url, account=account)


def test_without_a_file_every_provider_has_its_usual_account(file: AccountsFile) -> None:
    assert file.load() == LoadedAccounts()
    assert file.load().of("anthropic") == (usual_account("anthropic"),)


def test_accounts_come_back_as_they_were(file: AccountsFile) -> None:
    for account in (WORK, HOME, GPU):
        file.put(account)
    assert file.load() == LoadedAccounts((WORK, HOME, GPU))
    assert file.load().of("anthropic") == (usual_account("anthropic"), WORK, HOME)
    assert file.load().find("anthropic", "Work") == WORK
    assert file.load().find("ollama", "work") is None


def test_an_account_is_replaced_where_it_stands_with_the_comments_kept(file: AccountsFile) -> None:
    file.put(WORK)
    file.put(HOME)
    _write(file, "# mine\n" + file.path.read_text().replace('"https://models.example"', '"https://a.example"  # old'))
    file.put(WORK)
    text = file.path.read_text()
    assert text.startswith("# mine\n")
    assert text.count("[[account]]") == 2
    assert file.load().added == (WORK, HOME)
    plain = Account(provider="anthropic", name="work")
    file.put(plain)
    assert file.load().added == (plain, HOME)


def test_the_usual_account_can_be_another_than_usual(file: AccountsFile) -> None:
    keyed = Account(provider="ollama", kind="key")
    file.put(keyed)
    assert file.load().of("ollama") == (keyed,)
    assert file.remove(keyed)
    assert file.load().of("ollama") == (usual_account("ollama"),)


def test_a_removed_account_is_gone(file: AccountsFile) -> None:
    assert not file.remove(WORK)
    file.put(WORK)
    assert file.remove(WORK)
    assert not file.remove(WORK)
    assert file.load() == LoadedAccounts()


def test_headers_may_be_written_as_a_section(file: AccountsFile) -> None:
    _write(file, '[[account]]\nprovider = "xai"\nname = "a"\n[account.headers]\nX-Team = "a"\n')
    (account,) = file.load().added
    assert account.headers == {"X-Team": "a"}
    file.put(HOME)
    file.put(Account(provider="xai", name="a", headers={"X-Team": "b"}))
    assert [account.headers for account in file.load().added] == [{"X-Team": "b"}, {}]


@pytest.mark.parametrize(
    ("entry", "word"),
    [
        ('provider = "antropic"', "openrouter"),
        ('name = "work"', "provider must be one of"),
        ('provider = "anthropic"\nname = "two words"', "letters"),
        ('provider = "anthropic"\nname = 3', "name must be a text"),
        ('provider = "anthropic"\naddress = "https://a.example"', "with a name"),
        ('provider = "anthropic"\nname = "a"\naddress = "a.example"', "address"),
        ('provider = "anthropic"\nname = "a"\nkind = "token"', "kind"),
        ('provider = "anthropic"\nname = "a"\nheader = "basic"', "header"),
        ('provider = "anthropic"\nname = "a"\nheaders = ["X"]', "headers"),
        (f'provider = "anthropic"\nname = "a"\nheaders = {{X-Team = "{KEY}"}}', "secret"),
        (f'provider = "anthropic"\nname = "a"\nkey = "{KEY}"', "'key' is not known"),
        ('provider = "anthropic"\nname = "Work"', "another account"),
    ],
)
def test_a_broken_entry_is_named_with_its_line_and_no_account_is_used(
    file: AccountsFile, entry: str, word: str
) -> None:
    _write(file, f'# mine\n[[account]]\nprovider = "anthropic"\nname = "work"\n\n[[account]]\n{entry}\n')
    before = file.path.read_bytes()
    (problem,) = file.load().problems
    assert f"{file.path}:6: account 2: " in str(problem)
    assert word in str(problem)
    assert KEY not in str(problem)
    for model in (_model(), _model("work")):
        with pytest.raises(UnsafeSettingsError) as caught:
            file.load().of_model(model)
        assert str(problem) in caught.value.detail
    with pytest.raises(UsageError):
        file.put(HOME)
    with pytest.raises(UsageError):
        file.remove(WORK)
    assert file.path.read_bytes() == before


@pytest.mark.parametrize("text", ["[[account]\n", "account = 3\n", "[accounts]\n", "\x00"])
def test_a_file_that_is_something_else_is_a_fault_with_its_line(file: AccountsFile, text: str) -> None:
    _write(file, text)
    assert file.load().problems
    with pytest.raises(UnsafeSettingsError):
        file.load().of_model(_model())


def test_an_account_that_cannot_be_used_is_not_written(file: AccountsFile) -> None:
    with pytest.raises(UsageError, match="secret"):
        file.put(Account(provider="anthropic", name="a", headers={"X-Team": KEY}))
    assert not file.path.exists()


def test_a_model_is_asked_by_the_account_it_names_at_that_accounts_address(file: AccountsFile) -> None:
    file.put(WORK)
    loaded = file.load()
    assert loaded.of_model(_model("work")) == WORK
    assert loaded.of_model(_model("WORK", "https://models.example/")) == WORK
    assert loaded.of_model(_model()).where == "https://api.anthropic.com"


def test_the_usual_account_goes_where_the_user_says(file: AccountsFile) -> None:
    account = file.load().of_model(_model(base_url="http://127.0.0.1:9"))
    assert (account.name, account.where) == ("", "http://127.0.0.1:9")


def test_a_named_account_goes_nowhere_else(file: AccountsFile) -> None:
    file.put(WORK)
    with pytest.raises(CredentialsError, match="belongs to https") as caught:
        file.load().of_model(_model("work", "https://api.anthropic.com"))
    assert "own address only" in caught.value.hint


def test_an_account_that_is_gone_is_named_with_those_there_are(file: AccountsFile) -> None:
    file.put(HOME)
    with pytest.raises(CredentialsError, match="no account 'work' for Anthropic") as caught:
        file.load().of_model(_model("work"))
    for known in ("usual", "home", "auth set anthropic --account work"):
        assert known in caught.value.hint


def files(home: Path) -> tuple[Path, Path]:
    return home / ".codex" / "auth.json", home / ".claude" / ".credentials.json"


def test_without_them_there_is_nothing_to_say() -> None:
    assert other_sign_ins() == ()


def test_each_is_explained_with_what_to_do_instead(isolated_home: Path) -> None:
    for file in files(isolated_home):
        file.parent.mkdir()
        file.write_text("{}")
    codex, claude = other_sign_ins()
    assert codex.program == "Codex"
    assert "once" in codex.reason
    assert claude.program == "Claude Code"
    assert "does not permit" in claude.reason
    assert "API key" in claude.instead


def test_they_are_where_the_environment_says(tmp_path: Path) -> None:
    (tmp_path / "auth.json").write_text("{}")
    (found,) = other_sign_ins({"CODEX_HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(tmp_path / "gone")})
    assert found.program == "Codex"


def test_nothing_in_them_is_read(isolated_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for file in files(isolated_home):
        file.parent.mkdir()
        file.write_text("{}")

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("it was opened")

    with monkeypatch.context() as nothing_opens:
        for name in ("builtins.open", "io.open", "os.open"):
            nothing_opens.setattr(name, refuse)
        assert len(other_sign_ins()) == 2


ANTHROPIC = usual_account("anthropic")
XAI = usual_account("xai")
WORK_ACCOUNT = Account(provider="anthropic", name="Work", address="https://models.example")


def test_a_kept_key_is_found_again_until_it_is_deleted() -> None:
    store = SystemKeyStore(MemoryKeyring())
    store.set("anthropic", f" {KEY}\n")  # as it is pasted
    assert store.get("anthropic") == KEY
    assert store.get("openai") is None
    store.delete("anthropic")
    store.delete("anthropic")
    assert store.get("anthropic") is None


def test_an_empty_key_is_refused() -> None:
    with pytest.raises(CredentialsError, match="empty"):
        SystemKeyStore(MemoryKeyring()).set("anthropic", " \n")


def test_without_a_keyring_a_person_is_told_what_to_install() -> None:
    store = SystemKeyStore(fail.Keyring())
    for attempt in (lambda: store.get("anthropic"), lambda: store.set("anthropic", KEY)):
        with pytest.raises(CredentialsError) as caught:
            attempt()
        assert caught.value.title == "This system has no keyring to keep keys in."
        assert "GNOME Keyring" in caught.value.hint
        assert "ANTHROPIC_API_KEY" in caught.value.hint


def test_a_keyring_that_keeps_nothing_is_found_out() -> None:
    with pytest.raises(CredentialsError, match="did not keep"):
        SystemKeyStore(null.Keyring()).set("anthropic", KEY)


@pytest.mark.parametrize(
    ("error", "title"),
    [
        (KeyringLocked("Failed to unlock the collection!"), "The keyring is locked."),
        (InitError("Failed to create the collection: Prompt dismissed.."), "The keyring could not be opened."),
        (PasswordSetError(f"cannot store {KEY}"), "The keyring could not keep the key."),
        (OSError(1783, "The stub received bad data"), "The keyring could not keep the key."),
        (RuntimeError("org.freedesktop.DBus.Error.NoReply"), "The keyring could not keep the key."),
    ],
)
def test_whatever_a_backend_raises_is_explained_without_the_key(error: Exception, title: str) -> None:
    with pytest.raises(CredentialsError) as caught:
        SystemKeyStore(BrokenKeyring(error)).set("anthropic", KEY)
    assert caught.value.title == title
    assert caught.value.hint
    assert type(error).__name__ in caught.value.detail
    assert KEY not in f"{caught.value!r} {caught.value} {caught.value.detail}"
    assert caught.value.__suppress_context__


def test_a_probe_of_a_working_keyring_leaves_nothing_behind() -> None:
    backend = MemoryKeyring()
    report = SystemKeyStore(backend).probe()
    assert report.is_usable
    assert report.backend == backend.name
    assert backend.entries == {}


@pytest.mark.parametrize(
    ("backend", "problem"),
    [
        (fail.Keyring(), "This system has no keyring to keep keys in."),
        (null.Keyring(), "The keyring did not keep the key."),
        (BrokenKeyring(KeyringLocked()), "The keyring is locked."),
    ],
)
def test_a_probe_says_why_a_keyring_is_unusable(backend: KeyringBackend, problem: str) -> None:
    report = SystemKeyStore(backend).probe()
    assert not report.is_usable
    assert report.backend == backend.name
    assert report.problem == problem
    assert report.hint


def test_the_systems_own_keyring_is_asked_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = MemoryKeyring()
    use_keyring(monkeypatch, backend)
    SystemKeyStore().set("openai", KEY)
    assert backend.entries == {("desktop-agent", "openai"): KEY}


def test_a_backend_that_cannot_be_loaded_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keyring.core, "_keyring_backend", None)
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "no_such_package.Keyring")
    report = SystemKeyStore().probe()
    assert (report.is_usable, report.backend) == (False, "none")


def test_the_environment_comes_before_the_keyring() -> None:
    store = SystemKeyStore(MemoryKeyring())
    store.set("anthropic", KEY)
    assert resolve_key(ANTHROPIC, {"ANTHROPIC_API_KEY": " from-env \n"}, store) == ResolvedKey(
        "from-env", "environment"
    )
    assert resolve_key(ANTHROPIC, {"ANTHROPIC_API_KEY": ""}, store) == ResolvedKey(KEY, "keyring")


@pytest.mark.parametrize("vendor", [vendor for vendor in VENDORS if vendor.key_variable], ids=lambda vendor: vendor.id)
def test_every_vendor_with_a_variable_is_asked_by_it(vendor: Vendor) -> None:
    found = resolve_key(usual_account(vendor.id), {vendor.key_variable: KEY}, SystemKeyStore(fail.Keyring()))
    assert found.source == "environment"


def test_an_account_with_a_name_has_its_own_key_and_none_from_the_environment() -> None:
    store = SystemKeyStore(MemoryKeyring())
    store.set(entry_of(ANTHROPIC), "usual")
    environ = {"ANTHROPIC_API_KEY": "from-env"}
    assert resolve_key(WORK_ACCOUNT, environ, store) == ResolvedKey(None, None)
    store.set(entry_of(WORK_ACCOUNT), "work")
    assert resolve_key(WORK_ACCOUNT, environ, store) == ResolvedKey("work", "keyring")
    assert resolve_key(ANTHROPIC, {}, store) == ResolvedKey("usual", "keyring")


def test_an_account_that_moved_to_another_address_has_no_key_there() -> None:
    store = SystemKeyStore(MemoryKeyring())
    store.set(entry_of(WORK_ACCOUNT), KEY)
    assert resolve_key(replace(WORK_ACCOUNT, address="https://models.example/"), {}, store).value == KEY
    assert resolve_key(replace(WORK_ACCOUNT, address="https://other.example"), {}, store).value is None
    assert resolve_key(replace(WORK_ACCOUNT, address=""), {}, store).value is None


def test_the_entry_of_the_usual_account_is_the_providers_id() -> None:
    """The entry is the same as before accounts existed, so that no key has to be entered again."""
    assert entry_of(ANTHROPIC) == "anthropic"
    assert entry_of(replace(ANTHROPIC, address="http://127.0.0.1:9")) == "anthropic"


def test_an_account_without_a_credential_asks_no_keyring() -> None:
    assert resolve_key(usual_account("ollama"), {}, SystemKeyStore(fail.Keyring())) == ResolvedKey(None, None)


def test_no_key_anywhere_is_no_error() -> None:
    assert resolve_key(XAI, {"ANTHROPIC_API_KEY": KEY}, SystemKeyStore(MemoryKeyring())) == ResolvedKey(None, None)


def test_a_keyring_that_cannot_be_read_is_an_error_only_when_it_is_needed() -> None:
    store = SystemKeyStore(fail.Keyring())
    assert resolve_key(XAI, {"XAI_API_KEY": KEY}, store).value == KEY
    with pytest.raises(CredentialsError):
        resolve_key(XAI, {}, store)


def test_a_resolved_key_never_shows_its_value() -> None:
    resolved = ResolvedKey(KEY, "keyring")
    assert KEY not in f"{resolved} {resolved!r}"


def test_a_key_for_this_run_only_is_used_and_kept_nowhere() -> None:
    backend = BrokenKeyring(KeyringLocked("locked"))
    store = SystemKeyStore(backend)
    store.keep_for_now("anthropic", f" {KEY}\n")
    assert resolve_key(ANTHROPIC, {}, store) == ResolvedKey(KEY, "run")
    assert backend.entries == {}
    assert KEY not in repr(store)
