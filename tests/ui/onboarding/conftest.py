import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from tests.ui.onboarding.desk import Desk


@pytest.fixture
def desk(qapp: QApplication, qtbot: QtBot) -> Desk:
    return Desk(qapp, qtbot)
