"""Keys come from the environment or the keyring, stay there, and show up nowhere else."""

import keyring
import pytest
from keyring.backend import KeyringBackend
from keyring.backends import fail, null
from keyring.errors import InitError, KeyringLocked, PasswordSetError
from msgspec.structs import replace

from desktop_agent.core.base.errors import CredentialsError
from desktop_agent.core.models.account import Account, usual_account
from desktop_agent.core.models.vendors import VENDORS, Vendor
from desktop_agent.core.providers.auth.keys import ResolvedKey, SystemKeyStore, entry_of, resolve_key
from tests.memory_keyring import BrokenKeyring, MemoryKeyring, use_keyring

KEY = "sk-ant-test-0123456789abcdef"
ANTHROPIC = usual_account("anthropic")
XAI = usual_account("xai")
WORK = Account(provider="anthropic", name="Work", address="https://models.example")


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
    assert resolve_key(WORK, environ, store) == ResolvedKey(None, None)
    store.set(entry_of(WORK), "work")
    assert resolve_key(WORK, environ, store) == ResolvedKey("work", "keyring")
    assert resolve_key(ANTHROPIC, {}, store) == ResolvedKey("usual", "keyring")


def test_an_account_that_moved_to_another_address_has_no_key_there() -> None:
    store = SystemKeyStore(MemoryKeyring())
    store.set(entry_of(WORK), KEY)
    assert resolve_key(replace(WORK, address="https://models.example/"), {}, store).value == KEY
    assert resolve_key(replace(WORK, address="https://other.example"), {}, store).value is None
    assert resolve_key(replace(WORK, address=""), {}, store).value is None


def test_the_entry_of_the_usual_account_is_the_providers_id() -> None:
    """As it was before there were accounts: no user has to enter a key again."""
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
