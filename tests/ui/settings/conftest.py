import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from desktop_agent.ui.settings.settings_view import Section
from tests.ui.settings.desk import Desk


@pytest.fixture
def section() -> Section:
    """Where the dialog opens. A module about another page says so."""
    return "model"


@pytest.fixture
def desk(qapp: QApplication, qtbot: QtBot, section: Section) -> Desk:
    return Desk(qapp, qtbot, section)
