import logging

import pytest
from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QLineEdit, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from desktop_agent.core.models.account import Account, usual_account
from desktop_agent.core.settings.loading import LoadedSettings
from desktop_agent.core.settings.sections import ModelSettings, Settings
from desktop_agent.ui.settings.accounts import AccountForm, KeyStatus
from desktop_agent.ui.settings.model_page import ModelPage
from desktop_agent.ui.settings.settings_view import AccountsView, SettingsView
from tests.ui.settings.desk import Desk

ANTHROPIC = usual_account("anthropic")
SECRET = "sk-ant-api03-very-secret"


def everything_said(root: QWidget) -> str:
    said: list[str] = []
    for widget in [root, *root.findChildren(QWidget)]:
        said += [widget.toolTip(), widget.windowTitle(), widget.accessibleName(), widget.accessibleDescription()]
        if isinstance(widget, QLineEdit | QLabel | QPushButton):
            said.append(widget.text())
    return "\n".join(said)


def test_a_saved_key_goes_out_once_and_is_nowhere_any_more(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    QTest.keyClicks(desk.field, f"{SECRET} ")
    desk.click("saveKeyButton")
    assert desk.saved == [(ANTHROPIC, SECRET)]
    QTest.keyClick(desk.field, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert SECRET not in everything_said(desk.dialog)
    assert SECRET not in caplog.text


def test_a_key_that_was_not_saved_is_forgotten_when_the_dialog_closes(desk: Desk) -> None:
    QTest.keyClicks(desk.field, SECRET)
    QTest.keyClick(desk.dialog, Qt.Key.Key_Escape)
    assert SECRET not in everything_said(desk.dialog)
    assert desk.saved == []


def test_a_key_is_hidden_until_it_is_to_be_shown(desk: Desk) -> None:
    QTest.keyClicks(desk.field, SECRET)
    assert desk.field.displayText() != SECRET
    desk.click("showKeyButton")
    assert desk.field.displayText() == SECRET
    desk.click("saveKeyButton")
    assert desk.field.echoMode() == QLineEdit.EchoMode.Password


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (KeyStatus(), "There is no key yet."),
        (KeyStatus(source="environment", place="ANTHROPIC_API_KEY"), "environment variable ANTHROPIC_API_KEY"),
        (KeyStatus(source="keyring", place="SecretService"), "system keyring (SecretService)"),
        (KeyStatus(problem="This system has no keyring to keep keys in."), "no keyring"),
    ],
)
def test_it_says_where_the_key_in_use_comes_from(desk: Desk, status: KeyStatus, words: str) -> None:
    desk.dialog.key.show_status(status)
    assert any(words in text for text in desk.visible_texts())


def test_without_a_keyring_a_key_can_be_used_in_this_run_and_checked(desk: Desk) -> None:
    desk.dialog.key.show_status(KeyStatus(problem="The keyring is locked."))
    assert any("used until you quit" in text for text in desk.visible_texts())
    QTest.keyClicks(desk.field, SECRET)
    assert desk.button("saveKeyButton").isEnabled()
    assert desk.button("saveKeyButton").text() == "Use until I quit"
    desk.click("checkKeyButton")
    assert desk.checks == [(ANTHROPIC, SECRET)]
    desk.dialog.key.show_result("The key works.", is_good=True)
    QTest.keyClick(desk.field, Qt.Key.Key_Return)
    assert desk.saved == [(ANTHROPIC, SECRET)]


def test_a_check_shows_that_it_runs_and_what_came_of_it_and_keeps_the_keyboard_at_the_key(desk: Desk) -> None:
    check, remove = desk.button("checkKeyButton"), desk.button("removeKeyButton")
    assert not check.isEnabled()
    desk.dialog.key.show_status(KeyStatus(source="keyring", place="SecretService"))
    check.setFocus()
    desk.click("checkKeyButton")
    assert desk.checks == [(ANTHROPIC, "")]
    desk.dialog.key.show_busy("Checking the key…")
    assert "Checking the key…" in desk.visible_texts()
    assert not check.isEnabled()
    assert desk.field.hasFocus()
    desk.dialog.key.show_result("The key works.", is_good=True)
    assert "The key works." in desk.visible_texts()
    assert check.isEnabled()
    assert check.hasFocus()
    remove.click()
    assert desk.button("keepKeyButton").hasFocus()
    desk.click("keepKeyButton")
    assert remove.hasFocus()
    remove.click()
    desk.click("reallyRemoveKeyButton")
    assert desk.field.hasFocus()


def test_only_a_kept_key_can_be_removed_and_only_after_a_second_thought(desk: Desk) -> None:
    desk.dialog.key.show_status(KeyStatus(source="environment", place="ANTHROPIC_API_KEY"))
    assert not desk.button("removeKeyButton").isVisible()
    desk.dialog.key.show_status(KeyStatus(source="keyring", place="SecretService"))
    desk.click("removeKeyButton")
    desk.click("keepKeyButton")
    assert desk.removed == []
    desk.click("removeKeyButton")
    desk.click("reallyRemoveKeyButton")
    assert desk.removed == [ANTHROPIC]


CHATGPT = Account(provider="openai", name="chatgpt", kind="oauth")
PAGE = "https://auth.example/authorize?state=1"


def at(desk: Desk, provider: str, account: str = "") -> None:
    desk.dialog.model.show_accounts(AccountsView(added=(CHATGPT,), is_known=True))
    desk.show(Settings(model=ModelSettings(provider=provider, account=account)))


def said(desk: Desk) -> str:
    label = desk.dialog.findChild(QLabel, "signInNote")
    assert isinstance(label, QLabel)
    return label.text() if label.isVisible() else ""


@pytest.mark.parametrize(
    ("provider", "words", "way"),
    [
        ("openai", "Sign in with ChatGPT…", "chatgpt"),
        ("openrouter", "Sign in with OpenRouter…", "openrouter"),
        ("anthropic", "Use a profile of Anthropic's tools", "profile"),
    ],
)
def test_each_provider_offers_its_own_way(desk: Desk, provider: str, words: str, way: str) -> None:
    at(desk, provider)
    assert desk.button("accountSignInButton").text() == words
    desk.click("accountSignInButton")
    assert desk.signed_in == [(way, "")]
    at(desk, "xai")
    assert not desk.button("accountSignInButton").isVisible()


def test_the_wait_for_the_browser_is_shown_and_given_up(desk: Desk) -> None:
    at(desk, "openai")
    desk.dialog.sign_in.show_busy("Preparing the sign-in…")
    desk.dialog.sign_in.show_waiting(PAGE, is_open=True)
    assert "Waiting for the browser…" in desk.visible_texts()
    assert not desk.button("accountSignInButton").isVisible()
    desk.click("copyAddressButton")
    assert QGuiApplication.clipboard().text() == PAGE
    desk.click("cancelSignInButton")
    assert desk.cancelled == 1
    assert "Waiting for the browser…" not in desk.visible_texts()
    assert desk.button("accountSignInButton").isVisible()


def test_what_came_of_it_is_said(desk: Desk) -> None:
    at(desk, "openai")
    desk.dialog.sign_in.show_busy("Preparing the sign-in…")
    desk.dialog.sign_in.show_result("The sign-in with ChatGPT was declined.", is_good=False)
    assert said(desk) == "The sign-in with ChatGPT was declined."
    at(desk, "openrouter")
    assert said(desk) == "", "it was about another service"


def test_an_account_that_signed_in_can_do_so_again(desk: Desk) -> None:
    at(desk, "openai", "chatgpt")
    desk.click("accountSignInButton")
    assert desk.signed_in == [("chatgpt", "chatgpt")]


def test_closing_the_settings_gives_a_sign_in_up(desk: Desk) -> None:
    at(desk, "openai")
    desk.dialog.close()
    assert desk.cancelled == 1


def cloud_line(desk: Desk, field: str) -> QLineEdit:
    return next(line for line in desk.dialog.findChildren(QLineEdit, f"cloud_{field}") if line.isVisible())


def show_cloud(desk: Desk, provider: str, *added: Account, environ: dict[str, str] | None = None) -> None:
    settings = Settings(model=ModelSettings(provider=provider))
    desk.dialog.show_view(SettingsView.of(LoadedSettings(settings, ()), environ=environ or {}))
    desk.dialog.model.show_accounts(AccountsView(added=added, is_known=True))
    desk.settle()


def test_fields_of_a_clouds_account_are_saved_when_they_are_left_unless_they_are_wrong(desk: Desk) -> None:
    show_cloud(desk, "vertex", environ={"GOOGLE_CLOUD_PROJECT": "lab-1"})
    assert cloud_line(desk, "project").placeholderText() == "lab-1", "the environment says it"
    cloud_line(desk, "project").setFocus()
    QTest.keyClicks(cloud_line(desk, "project"), "lab-2")
    cloud_line(desk, "region").setFocus()
    assert desk.changed_accounts == []
    assert "Missing: Region." in desk.visible_texts()
    QTest.keyClicks(cloud_line(desk, "region"), "global")
    QTest.keyClick(cloud_line(desk, "region"), Qt.Key.Key_Return)
    account = replace(usual_account("vertex"), cloud={"region": "global", "project": "lab-2"})
    assert desk.changed_accounts == [account]


def test_a_cloud_is_checked_and_the_answer_goes_when_the_account_changes(desk: Desk) -> None:
    account = replace(usual_account("bedrock"), cloud={"region": "eu-central-1"})
    show_cloud(desk, "bedrock", account)
    assert desk.button("checkSignInButton").text() == "Check"
    assert not desk.button("accountSignInButton").isVisible()
    assert not desk.dialog.key.isVisible()
    desk.click("checkSignInButton")
    assert desk.checked_sign_ins == [account]
    desk.dialog.sign_in.show_busy("Asking Amazon Bedrock…")
    desk.click("cancelSignInButton")
    assert desk.cancelled == 1
    desk.dialog.sign_in.show_result("Requests go there with an API key.", is_good=True)
    show_cloud(desk, "bedrock", account)
    assert "Requests go there with an API key." in desk.visible_texts()
    show_cloud(desk, "bedrock", replace(account, kind="key"))
    assert "Requests go there with an API key." not in desk.visible_texts()
    assert desk.dialog.key.isVisible()
    assert not desk.button("checkSignInButton").isVisible(), "the key has its own check"


def test_a_new_account_of_a_cloud_has_the_same_fields(desk: Desk) -> None:
    show_cloud(desk, "foundry", environ={"ANTHROPIC_FOUNDRY_RESOURCE": "our-lab"})
    desk.click("newAccountButton")
    form = desk.dialog.model.findChild(AccountForm)
    assert form is not None
    line = next(line for line in form.findChildren(QLineEdit, "cloud_resource"))
    assert line.text() == "our-lab"
    name = next(line for line in form.findChildren(QLineEdit, "accountNameEdit"))
    QTest.keyClicks(name, "lab")
    QTest.keyClick(name, Qt.Key.Key_Return)
    assert desk.added == [Account(provider="foundry", name="lab", kind="profile", cloud={"resource": "our-lab"})]
    assert not any("Key sent as" in label.text() and label.isVisible() for label in form.findChildren(QLabel))


def test_the_editors_of_accounts_go_with_a_page_that_was_never_shown(desk: Desk, qtbot: QtBot) -> None:
    page = ModelPage("Model", desk.dialog.model.theme, desk.dialog.model.settings_actions)
    qtbot.addWidget(page)
    assert {editor.window() for editor in (page.key, page.cloud, page.sign_in)} == {page}
