"""The model picker of the real window offers the user's models, and the chosen one answers next."""

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QComboBox, QLabel, QLineEdit, QListView, QPushButton, QWidget

from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.models.account import Account, usual_account
from desktop_agent.core.models.known_model import ListedModel
from desktop_agent.core.models.model_catalog import MODELS_NAME, FetchedList, ListCache
from desktop_agent.core.protocol.model import ModelRef
from desktop_agent.core.providers.auth.accounts import ACCOUNTS_NAME, AccountsFile
from desktop_agent.core.settings.models_file import MODELS_FILE_NAME
from desktop_agent.core.settings.settings_file import save_setting
from desktop_agent.ui.settings.settings_dialog import SettingsDialog
from tests.app.conftest import Go
from tests.e2e.driver import Driver
from tests.servers.dialects.local import OLLAMA
from tests.servers.script import reply, text
from tests.servers.threaded import serve

pytestmark = pytest.mark.usefixtures("qapp")

CTRL_SHIFT = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier


@pytest.fixture(autouse=True)
def second_key(monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    del key
    monkeypatch.setenv("OPENROUTER_API_KEY", "sk-or-test-000000000000")


async def open_picker(user: Driver) -> QListView:
    await user.press(Qt.Key.Key_M, CTRL_SHIFT)
    rows = await user.see(QListView, "modelList")
    await user.until_true(lambda: "Connect OpenAI…" in said(rows), "the keyring has answered")
    return rows


def said(rows: QListView) -> list[str]:
    model = rows.model()
    return [str(model.index(row, 0).data()) for row in range(model.rowCount())]


async def see_model(user: Driver, provider: str, model: str, account: str = "") -> None:
    wanted = ModelRef(provider=provider, model=model, account=account)
    await user.until_true(lambda: shown_model(user) == wanted, f"{model} is in force")


async def choose(user: Driver, words: str) -> None:
    await user.type("modelSearch", words)
    await user.press(Qt.Key.Key_Return)
    await user.until_true(lambda: user.find(QListView, "modelList") is None, "the picker has closed")


def shown_model(user: Driver) -> ModelRef:
    model = user.transcript.session.model
    assert model is not None
    return model


def test_the_keys_that_open_it_are_in_the_tooltip_and_the_keyboard_comes_back(go: Go, project: Path) -> None:
    async def journey(user: Driver) -> None:
        shortcut = user.actions.choose_model.shortcut()
        keys = shortcut.toString(QKeySequence.SequenceFormat.NativeText)
        assert keys in user.window.panels.pickers.model_button.toolTip()
        rows = await open_picker(user)
        assert {"Anthropic", "OpenRouter", "Demo model", "Connect xAI…"} <= set(said(rows))
        assert not any("Chat Completions" in words for words in said(rows)), "the same account a second time"
        await user.press(Qt.Key.Key_Escape)
        await user.until_true(lambda: not rows.isVisible(), "the picker has closed")
        assert QApplication.focusWidget() is user.composer.edit

    go([str(project)], journey)


def test_what_is_chosen_answers_next_and_the_journal_says_so(go: Go, project: Path, isolated_home: Path) -> None:
    with serve(reply(text("Hello.")), reply(text("Here."))) as server:

        async def journey(user: Driver) -> None:
            for turn, words in ((1, "first"), (2, "second")):
                await user.run_turn(words)
                if turn == 1:
                    await open_picker(user)
                    await choose(user, "opus")
                    await user.until_true(lambda: "opus" in shown_model(user).model, "another model is in force")
            assert shown_model(user).base_url == server.url, "at the same address"
            rows = await open_picker(user)
            assert said(rows)[:3] == ["Recent", "claude-opus-5-5", "claude-sonnet-5-5"]

        go([str(project), "--base-url", server.url], journey)
        assert [exchange.fields["model"] for exchange in server.messages] == ["claude-sonnet-5-5", "claude-opus-5-5"]
    (journal,) = (isolated_home / "desktop-agent" / "data" / "sessions").glob("*/journal.jsonl")
    records = [json.loads(line) for line in journal.read_text(encoding="utf-8").splitlines()]
    assert [record["model"]["model"] for record in records if record["type"] == "mode_set"] == ["claude-opus-5-5"]


def test_another_account_is_asked_at_its_own_address(go: Go, project: Path) -> None:
    file = AccountsFile(AppPaths.from_environment(os.environ).config / ACCOUNTS_NAME)
    file.put(Account(provider="anthropic", name="work", address="https://models.example", kind="none"))

    async def journey(user: Driver) -> None:
        rows = await open_picker(user)
        assert "work (models.example)" in said(rows), "the format of its requests does not say who answers"
        await choose(user, "work opus")
        await see_model(user, "anthropic", "claude-opus-5-5", "work")
        await open_picker(user)
        await choose(user, "openrouter sonnet")
        await see_model(user, "openrouter", "anthropic/claude-sonnet-5.5")
        await open_picker(user)
        await choose(user, "claude-opus-9")
        await see_model(user, "openrouter", "claude-opus-9")

    go([str(project)], journey)


def test_connecting_leads_to_the_field_for_the_key_and_chooses_nothing_until_another_provider_is_chosen(
    go: Go, project: Path
) -> None:
    save_setting(AppPaths.from_environment(os.environ).settings_file(), "model.provider", value="demo")

    async def journey(user: Driver) -> None:
        await open_picker(user)
        await choose(user, "connect xai")
        dialog = await user.see(SettingsDialog, "settingsDialog")
        field = await user.see(QLineEdit, "apiKeyEdit")
        assert dialog.focusWidget() is field
        assert dialog.key.account.provider == "xai"
        assert picker_of(dialog, "Provider").currentText() == "xAI"
        assert not picker_of(dialog, "Model").isVisible(), "it belongs to the chosen provider"
        await user.press(Qt.Key.Key_Escape)
        await user.until_true(lambda: not dialog.isVisible(), "the settings are closed")
        assert shown_model(user).provider == "demo"
        assert "xai" not in settings_text()

        await open_picker(user)
        await choose(user, "connect openai")
        dialog = await user.see(SettingsDialog, "settingsDialog")
        box = picker_of(dialog, "Provider")
        await user.until_true(lambda: dialog.key.account.provider == "openai", "OpenAI is to be connected")
        box.setCurrentIndex(box.findText("xAI"))
        await user.until_true(lambda: dialog.key.account.provider == "xai", "the provider is another")
        await user.see(QWidget, "modelNameEdit")
        dialog.reject()

    go([str(project)], journey)
    assert 'provider = "xai"' in settings_text()


def picker_of(dialog: SettingsDialog, name: str) -> QComboBox:
    return next(box for box in dialog.findChildren(QComboBox) if box.accessibleName() == name)


def settings_text() -> str:
    path = AppPaths.from_environment(os.environ).settings_file()
    return path.read_text(encoding="utf-8") if path.exists() else ""


def rows_and_age(user: Driver) -> tuple[QListView, QLabel]:
    rows, age = user.find(QListView, "modelList"), user.find(QLabel, "modelListAge")
    assert rows is not None
    assert age is not None
    return rows, age


@pytest.fixture
def no_other_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """A refresh asks every address that has a key: leave only the key of the test."""
    monkeypatch.delenv("OPENROUTER_API_KEY")


@pytest.mark.usefixtures("no_other_key")
def test_the_list_of_an_address_is_asked_for_and_it_and_favourites_are_there_at_the_next_start(
    go: Go, project: Path
) -> None:
    async def ask(user: Driver) -> None:
        await open_picker(user)
        rows, age = rows_and_age(user)
        assert age.text() == "Anthropic: list not loaded yet"
        await user.click("refreshModelsButton")
        await user.until_true(lambda: "claude-test-large" in " ".join(described(rows)), "the list is there")
        button = await user.see(QPushButton, "refreshModelsButton")
        await user.until_true(lambda: button.text() == "Refresh list", "all were asked")
        assert "claude-opus-5-5" not in said(rows), "the address does not have it"
        assert age.text() == "Anthropic: list of today"
        await user.type("modelSearch", "test-large")
        await user.press(Qt.Key.Key_D, Qt.KeyboardModifier.ControlModifier)
        await user.press(Qt.Key.Key_Return)
        await user.until_true(lambda: shown_model(user).model == "claude-test-large", "it is chosen")

    async def look(user: Driver) -> None:
        rows = await open_picker(user)
        assert said(rows)[0] == "Favourites"
        assert "claude-test-large" in described(rows)[1]

    with serve() as server:
        go([str(project), "--base-url", server.url], ask)
        address = server.url
    go([str(project), "--base-url", address], look)


def test_the_effort_of_a_model_is_chosen_beside_it_and_asked_for(go: Go, project: Path) -> None:
    path = AppPaths.from_environment(os.environ).config / MODELS_FILE_NAME
    path.parent.mkdir(parents=True, exist_ok=True)
    stated = 'provider = "anthropic"\nname = "claude-opus-5-5"\nlabel = "The Opus"\nefforts = ["low", "high"]\n'
    path.write_text(f"[[model]]\n{stated}")

    async def journey(user: Driver) -> None:
        await open_picker(user)
        await user.type("modelSearch", "opus")
        (level,) = (button for button in segments(user) if button.text() == "low")
        QTest.mouseClick(level, Qt.MouseButton.LeftButton)
        await user.until_true(lambda: shown_model(user).effort == "low", "the level is in force")
        pickers = user.window.panels.pickers
        await user.until_true(lambda: pickers.model_button.text() == "The Opus ▾", "it says the model's label")
        await user.until_true(lambda: pickers.effort_button.text() == "Effort: low ▾", "and the level beside it")
        await user.run_turn("Think a little.")
        await open_picker(user)
        assert [button.text() for button in segments(user) if button.isChecked()] == ["low"]
        next(each for each in pickers.effort_button.menu().actions() if each.text() == "high").trigger()
        await user.until_true(lambda: shown_model(user).effort == "high", "the other level is in force")
        assert pickers.effort_button.isVisible()
        await user.run_turn("Think more.")

    with serve(reply(text("Done.")), reply(text("Done."))) as server:
        go([str(project), "--base-url", server.url], journey)
        efforts = [message.fields["output_config"] for message in server.messages]
        assert efforts == [{"effort": "low"}, {"effort": "high"}]


def segments(user: Driver) -> list[QPushButton]:
    choice = user.find(QWidget, "effortChoice")
    return choice.findChildren(QPushButton) if choice is not None else []


def described(rows: QListView) -> list[str]:
    model = rows.model()
    return [str(model.index(row, 0).data(Qt.ItemDataRole.AccessibleTextRole)) for row in range(model.rowCount())]


@pytest.mark.usefixtures("no_other_key")
def test_why_a_list_could_not_be_read_stands_below_its_account(go: Go, project: Path) -> None:
    async def journey(user: Driver) -> None:
        rows = await open_picker(user)
        await user.click("refreshModelsButton")
        await user.until_true(lambda: any("could not be reached" in words for words in said(rows)), "it says why")
        assert "claude-sonnet-5-5" in said(rows), "what was known is still offered"
        at = said(rows).index("Anthropic")
        assert "could not be reached" in said(rows)[at + 1]

    go([str(project), "--base-url", "http://127.0.0.1:9"], journey)


def test_a_server_on_this_machine_offers_its_models_unasked(
    go: Go, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def journey(user: Driver) -> None:
        rows = await open_picker(user)
        await user.until_true(lambda: "qwen3:8b" in said(rows), "its models are offered")
        assert "nomic-embed-text:latest" not in said(rows), "it makes vectors, and gives no answers"
        await choose(user, "qwen3")
        await see_model(user, "ollama", "qwen3:8b", "here")

    with serve(dialect=OLLAMA, asks_for_key=False) as server:
        file = AccountsFile(AppPaths.from_environment(os.environ).config / ACCOUNTS_NAME)
        file.put(Account(provider="ollama", name="here", address=server.url, kind="none"))
        go([str(project)], journey)


@pytest.mark.usefixtures("no_other_key")
def test_an_old_list_is_asked_for_when_the_picker_opens_and_never_at_a_start_or_a_turn(go: Go, project: Path) -> None:
    cache = ListCache(AppPaths.from_environment(os.environ).cache / MODELS_NAME)

    def lists_asked_for() -> int:
        return sum(exchange.path.startswith("/v1/models") for exchange in server.exchanges)

    def names() -> list[str]:
        fetched = cache.read(account)
        return [model.name for model in fetched.models] if fetched is not None else []

    async def journey(user: Driver) -> None:
        await user.run_turn("Say hello.")
        assert lists_asked_for() == 0
        await open_picker(user)
        await user.until_true(lambda: names() == ["claude-test-large"], "the new list is there")

    with serve(reply(text("Hello."))) as server:
        account = replace(usual_account("anthropic"), address=server.url)
        models = (ListedModel(name="claude-sonnet-5-5", context_tokens=1_000_000),)
        cache.write(account, FetchedList(fetched_at=datetime.now(UTC) - timedelta(days=2), models=models))
        go([str(project), "--base-url", server.url], journey)
        assert lists_asked_for() == 1


FACTS = "context_tokens = 40960\ninput_price = 1.0\noutput_price = 2.0\n"


@pytest.mark.parametrize(("levels", "sent"), [('["low", "high"]', {"effort": "high"}), ("[]", None)])
def test_what_is_said_of_a_model_decides(go: Go, project: Path, levels: str, sent: dict[str, str] | None) -> None:
    paths = AppPaths.from_environment(os.environ)
    save_setting(paths.settings_file(), "model.effort", "high")
    stated = f'[[model]]\nprovider = "anthropic"\nname = "claude-sonnet-5-5"\nefforts = {levels}\n{FACTS}'
    (paths.config / MODELS_FILE_NAME).write_text(stated)
    with serve(reply(text("Hello."), input_tokens=1_000_000, output_tokens=1_000_000)) as server:

        async def journey(user: Driver) -> None:
            await user.run_turn("Say hello.")
            assert user.transcript.turns.turn_usage.cost_usd == pytest.approx(3.0)

        go([str(project), "--base-url", server.url], journey)
        assert server.messages[0].fields.get("output_config") == sent
        assert [exchange.path for exchange in server.exchanges if "models" in exchange.path] == []


def test_another_account_goes_on_where_one_is_gone(go: Go, project: Path) -> None:
    paths = AppPaths.from_environment(os.environ)
    file = AccountsFile(paths.config / ACCOUNTS_NAME)

    async def begin(user: Driver) -> None:
        await user.run_turn("go on")

    async def go_on(user: Driver) -> None:
        await user.until_true(lambda: [notice.code for notice in user.notices] == ["no_account"], "it says so")
        await user.click("chooseAccountButton")
        rows = await user.see(QListView, "modelList")
        await user.until_true(lambda: "Anthropic" in highlighted(rows), "the accounts are offered")
        assert highlighted(rows).startswith("claude-sonnet-5-5"), "the same model"
        await user.press(Qt.Key.Key_Return)
        usual = ModelRef(provider="anthropic", model="claude-sonnet-5-5", base_url=server.url)
        await user.until_true(lambda: user.transcript.session.model == usual, "the usual account is in force")
        await user.run_turn("go on")

    with serve(reply(text("Hello.")), reply(text("Here.")), asks_for_key=False) as server:
        save_setting(paths.settings_file(), "model.base_url", server.url)
        work = Account(provider="anthropic", name="work", address=server.url, kind="none")
        file.put(work)
        go([str(project), "--account", "work"], begin)
        file.remove(work)
        go([str(project), "--continue"], go_on)
        assert len(server.messages) == 2


def highlighted(rows: QListView) -> str:
    return str(rows.currentIndex().data(Qt.ItemDataRole.AccessibleTextRole))
