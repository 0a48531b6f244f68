"""From the first start to the first answer in the real window, by each way of the welcome."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from keyring.errors import NoKeyringError
from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox, QDialog, QLineEdit, QPushButton, QWidget

from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.models.model_catalog import MODELS_NAME, ListCache
from desktop_agent.core.providers.auth.accounts import AccountsFile
from desktop_agent.core.settings.live_settings import LiveSettings
from desktop_agent.core.settings.sections import ModelSettings
from tests.app.conftest import Go, Journey
from tests.app.signing import BrowserOfTheDesktop, service
from tests.e2e.driver import Driver, ask_for_no_titles
from tests.memory_keyring import BrokenKeyring, MemoryKeyring, use_keyring
from tests.parts import visible_texts
from tests.servers.authorization_server import KEY as ROUTER_KEY
from tests.servers.authorization_server import Behaviour
from tests.servers.browser import UserInBrowser
from tests.servers.dialects.chat import CHAT, OPENROUTER
from tests.servers.dialects.local import OLLAMA
from tests.servers.dialects.responses import RESPONSES
from tests.servers.script import reply, text
from tests.servers.threaded import serve

pytestmark = pytest.mark.usefixtures("qapp")

Start = Callable[[Journey], None]

KEY, OLD_KEY = "sk-ant-test-000000000000", "sk-ant-test-111111111111"
ANSWER = "It prints the totals."


@pytest.fixture(autouse=True)
def keyring(monkeypatch: pytest.MonkeyPatch, isolated_home: Path) -> MemoryKeyring:
    backend = MemoryKeyring()
    use_keyring(monkeypatch, backend)
    ask_for_no_titles()
    return backend


@pytest.fixture
def start(go: Go, project: Path, monkeypatch: pytest.MonkeyPatch) -> Start:
    monkeypatch.chdir(project)
    return lambda journey: go([], journey)


def paths() -> AppPaths:
    return AppPaths.from_environment(os.environ)


def chosen() -> ModelSettings:
    return LiveSettings.load(paths().settings_file(), os.environ).current.model


def said(user: Driver) -> str:
    dialog = user.find(QDialog, "onboardingDialog")
    return "\n".join(visible_texts(dialog)) if dialog else ""


async def go_way(user: Driver, steps: int) -> None:
    await user.see(QDialog, "onboardingDialog")
    for _ in range(steps):
        await user.press(Qt.Key.Key_Down)
    await user.press(Qt.Key.Key_Return)


async def begin_and_ask(user: Driver) -> None:
    box = await user.see(QComboBox, "firstModelEdit")
    offered = [box.itemText(at) for at in range(box.count())]
    await user.click("beginButton")
    await user.until_true(lambda: user.find(QWidget, "onboardingDialog") is None, "the welcome has closed")
    model = chosen()
    shown = user.transcript.session.model
    assert shown is not None
    assert (shown.provider, shown.model, shown.account) == (model.provider, model.name, model.account)
    await user.type("composer", "What does it do?")
    await user.press(Qt.Key.Key_Return)
    await user.until_true(lambda: user.transcript.turn == 1, "the turn has begun")
    await user.see_turn_end()
    loaded = AccountsFile(paths().config / "accounts.toml").load()
    account = replace(loaded.of_model(shown), address=shown.base_url or loaded.of_model(shown).address)
    kept = ListCache(paths().cache / MODELS_NAME).read(account)
    assert kept is not None
    assert [model.name for model in kept.models] == offered


def test_a_key_is_tested_corrected_kept_and_answers(
    start: Start, keyring: MemoryKeyring, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def journey(user: Driver) -> None:
        await go_way(user, 1)
        await user.type("apiKeyEdit", OLD_KEY)
        await user.press(Qt.Key.Key_Return)
        await user.until_true(lambda: "The key was refused." in said(user), "the refusal is shown")
        assert keyring.entries == {}, "nothing is kept that does not work"
        field = await user.see(QLineEdit, "apiKeyEdit")
        field.selectAll()
        await user.type("apiKeyEdit", KEY)
        await user.click("tryKeyButton")
        assert (await user.see(QComboBox, "firstModelEdit")).currentText()
        await begin_and_ask(user)

    with serve(reply(text(ANSWER)), key=KEY) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        start(journey)
        assert server.violations == []
    assert keyring.entries == {("desktop-agent", "anthropic"): KEY}
    assert chosen().provider == "anthropic"
    for file in paths().config.rglob("*"):
        assert not file.is_file() or KEY.encode() not in file.read_bytes()


def test_without_a_keyring_a_key_is_used_in_this_run_and_that_is_said(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def journey(user: Driver) -> None:
        await go_way(user, 1)
        await user.type("apiKeyEdit", KEY)
        await user.press(Qt.Key.Key_Return)
        await user.see(QPushButton, "beginButton")
        assert "The key is kept for this run only." in said(user)
        await begin_and_ask(user)

    use_keyring(monkeypatch, BrokenKeyring(NoKeyringError()))
    with serve(reply(text(ANSWER)), key=KEY) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        start(journey)


def test_a_local_model_answers_without_a_key(
    start: Start, keyring: MemoryKeyring, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def journey(user: Driver) -> None:
        await go_way(user, 2)
        button = await user.see(QPushButton, "useServerButton")
        await user.until_true(button.isEnabled, "a server was found")
        await user.click("useServerButton")
        assert (await user.see(QComboBox, "firstModelEdit")).currentText() == "qwen3:8b"
        await begin_and_ask(user)

    with serve(reply(text(ANSWER)), dialect=OLLAMA, asks_for_key=False) as server:
        monkeypatch.setenv("OLLAMA_HOST", f"127.0.0.1:{server.port}")
        start(journey)
        assert [exchange.headers.get("authorization") for exchange in server.messages] == [None]
    assert (chosen().provider, chosen().name, chosen().base_url) == ("ollama", "qwen3:8b", server.url)
    assert keyring.entries == {}


def test_another_address_becomes_an_account_that_answers(start: Start, keyring: MemoryKeyring) -> None:
    async def journey(user: Driver) -> None:
        await go_way(user, 5)
        await user.press(Qt.Key.Key_Down)
        await user.press(Qt.Key.Key_Return)
        await user.type("newAccountNameEdit", "work")
        await user.type("newAddressEdit", server.url)
        await user.type("apiKeyEdit", KEY)
        await user.press(Qt.Key.Key_Return)
        await begin_and_ask(user)

    with serve(reply(text(ANSWER)), dialect=CHAT, key=KEY) as server:
        start(journey)
    (account,) = AccountsFile(paths().config / "accounts.toml").load().added
    assert (account.provider, account.name, account.address) == ("openai-chat", "work", server.url)
    assert (chosen().provider, chosen().account) == ("openai-chat", "work")
    assert list(keyring.entries.values()) == [KEY]


def test_a_chatgpt_plan_answers_after_a_sign_in(
    start: Start, keyring: MemoryKeyring, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def journey(user: Driver) -> None:
        async with UserInBrowser() as browser:
            with BrowserOfTheDesktop(browser):
                await go_way(user, 3)
                await user.press(Qt.Key.Key_Return)
                await begin_and_ask(user)

    with service(monkeypatch, RESPONSES, reply(text(ANSWER))) as (server, models):
        start(journey)
        assert server.violations == []
        assert len(models.messages) == 1
    assert (chosen().provider, chosen().account) == ("openai", "chatgpt")
    kept = "".join(file.read_text(errors="replace") for file in paths().config.rglob("*") if file.is_file())
    assert not any(secret in kept for secret in server.secrets)
    assert any(entry[1].startswith("openai:chatgpt") for entry in keyring.entries)


def test_a_sign_in_that_is_declined_keeps_nothing_and_can_be_begun_again(
    start: Start, keyring: MemoryKeyring, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def journey(user: Driver) -> None:
        async with UserInBrowser() as browser:
            with BrowserOfTheDesktop(browser):
                await go_way(user, 3)
                await user.press(Qt.Key.Key_Return)
                await user.until_true(lambda: "was declined" in said(user), "the user reads that it was declined")
                assert keyring.entries == {}
                server.behaviour = Behaviour(grant={"scope": "openid"})
                await user.click("signInButton")
                await user.until_true(lambda: "does not allow" in said(user), "the missing right is said")
                server.behaviour = Behaviour()
                await user.click("signInButton")
                await user.see(QPushButton, "beginButton")

    with service(monkeypatch, RESPONSES, reply(text(ANSWER))) as (server, _):
        server.behaviour = Behaviour(redirect={"error": "access_denied"}, without=("code",))
        start(journey)


def test_without_a_browser_the_address_is_shown_and_the_sign_in_can_be_given_up(
    start: Start, keyring: MemoryKeyring, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def journey(user: Driver) -> None:
        await go_way(user, 3)
        await user.press(Qt.Key.Key_Return)
        await user.until_true(lambda: "No browser could be opened." in said(user), "it says so")
        assert (await user.see(QLineEdit, "signInAddressEdit")).text().startswith("http")
        await user.press(Qt.Key.Key_Escape)
        await user.see(QPushButton, "signInButton")
        await user.press(Qt.Key.Key_Escape)
        await user.see(QPushButton, "subscriptionButton")

    with service(monkeypatch, RESPONSES, reply(text(ANSWER))):
        start(journey)
    assert keyring.entries == {}
    assert not (paths().config / "accounts.toml").exists()


ENTRY = ("desktop-agent", "openrouter")


def test_openrouter_makes_a_key_that_answers(
    start: Start, keyring: MemoryKeyring, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def journey(user: Driver) -> None:
        async with UserInBrowser() as browser:
            with BrowserOfTheDesktop(browser):
                await go_way(user, 5)
                await user.press(Qt.Key.Key_Return)
                # The keyring is tested first, with a test entry.
                await user.until_true(lambda: ENTRY in keyring.entries, "the key is kept")

    with service(monkeypatch, OPENROUTER):
        monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")  # its models are asked nowhere else than at OpenRouter
        start(journey)
    assert keyring.entries == {ENTRY: ROUTER_KEY}
