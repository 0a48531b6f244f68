"""A theme, and changes to show, for tests of the window's parts."""

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QTranslator
from PySide6.QtWidgets import QApplication

from desktop_agent.core.base.paths import resource_path
from desktop_agent.ui.theme import Theme
from tests.ui.review.stage import Session, Source, Tasks


@pytest.fixture
def theme(qapp: QApplication) -> Theme:
    theme = Theme(qapp, "light")
    theme.install()
    return theme


@pytest.fixture
def german(qapp: QApplication) -> Iterator[None]:
    translator = QTranslator()
    assert translator.load(str(resource_path("translations", "desktop_agent_de.qm")))
    qapp.installTranslator(translator)
    yield
    qapp.removeTranslator(translator)


@pytest.fixture
def session() -> Session:
    return Session()


@pytest.fixture
def source(session: Session) -> Source:
    return Source(session)


@pytest.fixture
def tasks() -> Tasks:
    return Tasks()
