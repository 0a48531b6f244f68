import pytest
from pytestqt.qtbot import QtBot

from desktop_agent.ui.theme import Theme
from tests.ui.chat.cards.loads import Loads
from tests.ui.chat.stage import Stage


@pytest.fixture
def stage(theme: Theme, qtbot: QtBot, loads: Loads) -> Stage:
    return Stage(theme, qtbot, height=900, loader=loads.loader)
