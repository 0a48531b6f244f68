import pytest
from PySide6.QtWidgets import QApplication

from desktop_agent.ui.theme import Theme


@pytest.fixture(scope="module")
def theme(qapp: QApplication) -> Theme:
    theme = Theme(qapp, "light")
    theme.install()
    return theme
