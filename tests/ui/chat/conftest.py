"""The theme as the application installs it, a stage, and contents for cards."""

from collections.abc import Generator

import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from desktop_agent.ui.theme import TextSizes, Theme
from tests.ui.chat.cards.loads import Loads
from tests.ui.chat.stage import Stage


@pytest.fixture(scope="session")
def theme(qapp: QApplication) -> Theme:
    """One theme for all tests: setting the style of an application again is slow."""
    theme = Theme(qapp, "light")
    theme.install()
    return theme


@pytest.fixture
def chosen(theme: Theme) -> Generator[Theme]:
    """The shared theme, for a test that changes it."""
    yield theme
    theme.choose("light")
    theme.choose_sizes(TextSizes())
    theme.choose_density("comfortable")


@pytest.fixture
def stage(theme: Theme, qtbot: QtBot) -> Stage:
    return Stage(theme, qtbot)


@pytest.fixture
def loads() -> Generator[Loads]:
    loads = Loads()
    yield loads
    loads.finish()  # nothing is left unawaited
