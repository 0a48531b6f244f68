"""The settings offer the sign-in of a provider, show the wait for the browser, and sign out."""

import pytest
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QLabel
from pytestqt.qtbot import QtBot

from desktop_agent.core.models.account import Account
from desktop_agent.core.settings import ModelSettings, Settings
from desktop_agent.ui.settings.state import AccountsView
from tests.ui.settings.desk import Desk

CHATGPT = Account(provider="openai", name="chatgpt", kind="oauth")
PAGE = "https://auth.example/authorize?state=1"


@pytest.fixture
def desk(qapp: QApplication, qtbot: QtBot) -> Desk:
    return Desk(qapp, qtbot)


def at(desk: Desk, provider: str, account: str = "") -> None:
    desk.dialog.show_accounts(AccountsView(added=(CHATGPT,), is_known=True))
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


def test_where_there_is_no_sign_in_none_is_offered(desk: Desk) -> None:
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


def test_an_account_that_signed_in_is_checked_signed_in_again_and_signed_out(desk: Desk) -> None:
    at(desk, "openai", "chatgpt")
    assert not desk.field.isVisible()
    desk.click("checkSignInButton")
    assert desk.checked_sign_ins == [CHATGPT]
    desk.click("accountSignInButton")
    assert desk.signed_in == [("chatgpt", "chatgpt")]
    assert desk.button("removeAccountButton").text() == "Sign out"
    desk.click("removeAccountButton")
    desk.click("reallyRemoveAccountButton")
    assert desk.removed_accounts == [CHATGPT]


def test_closing_the_settings_gives_a_sign_in_up(desk: Desk) -> None:
    at(desk, "openai")
    desk.dialog.close()
    assert desk.cancelled == 1
