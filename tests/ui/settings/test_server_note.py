"""A local account's settings show whether its server runs, and offer its models."""

import pytest
from PySide6.QtWidgets import QApplication, QLabel
from pytestqt.qtbot import QtBot

from desktop_agent.core.models.account import Account, usual_account
from desktop_agent.core.models.vendors import LocalServer
from desktop_agent.core.settings.sections import ModelSettings, Settings
from desktop_agent.ui.settings.settings_view import AccountsView
from tests.ui.settings.desk import Desk

OLLAMA = usual_account("ollama")
RUNNING = LocalServer(provider="ollama", address=OLLAMA.where, state="running", models=("qwen3:8b", "gpt-oss:20b"))


@pytest.fixture
def desk(qapp: QApplication, qtbot: QtBot) -> Desk:
    desk = Desk(qapp, qtbot)
    desk.show(Settings(model=ModelSettings(provider="ollama")))
    return desk


def said(desk: Desk) -> str:
    label = desk.dialog.findChild(QLabel, "localServerNote")
    assert isinstance(label, QLabel)
    return label.text() if label.isVisible() else ""


def test_the_server_of_a_local_account_is_looked_for_once(desk: Desk) -> None:
    assert desk.looked_for == [OLLAMA]
    desk.show(Settings(model=ModelSettings(provider="ollama", name="qwen3:8b")))
    assert desk.looked_for == [OLLAMA]
    assert said(desk) == ""


def test_another_address_is_looked_at_anew(desk: Desk) -> None:
    desk.show(Settings(model=ModelSettings(provider="ollama", base_url="http://127.0.0.1:5000/v1")))
    assert desk.looked_for == [OLLAMA, OLLAMA]


def test_what_was_found_for_another_account_is_not_shown(desk: Desk) -> None:
    other = Account(provider="ollama", name="big", address="http://127.0.0.1:5000/v1", kind="none")
    desk.dialog.model.show_accounts(AccountsView(added=(other,), is_known=True))
    desk.dialog.model.show_server(other, RUNNING)
    assert said(desk) == ""
    assert desk.picker("Model").count() == 0
