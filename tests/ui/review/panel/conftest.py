"""A review panel: empty, with two turns, or with git's differences."""

import pytest
from pytestqt.qtbot import QtBot

from desktop_agent.ui.review.review_panel import ReviewPanel
from desktop_agent.ui.theme import Theme
from tests.ui.review.panel.panel_stage import Asked, Git, carry_out, choose
from tests.ui.review.stage import Session, Source, Tasks


@pytest.fixture
def asked() -> Asked:
    return Asked()


def opened(qtbot: QtBot, panel: ReviewPanel) -> ReviewPanel:
    qtbot.addWidget(panel)
    panel.resize(560, 800)
    panel.show()
    qtbot.waitExposed(panel)
    return panel


@pytest.fixture
def panel(qtbot: QtBot, theme: Theme, source: Source, tasks: Tasks) -> ReviewPanel:
    return opened(qtbot, ReviewPanel(theme, source, tasks.spawn))


@pytest.fixture
def reviewed(panel: ReviewPanel, session: Session, asked: Asked) -> ReviewPanel:
    session.start_turn(1, "Fix the page count\nand more")
    session.change(1, "call-1", "src/pages.py", "one\ntwo\n", "one\nTWO\n")
    session.change(1, "call-2", "README.md", None, "hello\n", author="shell")
    session.end_turn(1)
    session.start_turn(2, "Louder")
    session.change(2, "call-3", "src/pages.py", "one\nTWO\n", "one\nTWO!\n")
    session.end_turn(2)
    panel.set_transcript(session.transcript, asked.submit)
    asked.clear()
    return panel


@pytest.fixture
def deciding(reviewed: ReviewPanel, session: Session, asked: Asked) -> ReviewPanel:
    """It lists the whole session, which carries out what is asked of it."""
    choose(reviewed, "This session")
    carry_out(reviewed, session, asked)
    return reviewed


@pytest.fixture
def git() -> Git:
    return Git()


@pytest.fixture
def in_git(
    qtbot: QtBot, theme: Theme, session: Session, source: Source, tasks: Tasks, git: Git, asked: Asked
) -> ReviewPanel:
    panel = opened(qtbot, ReviewPanel(theme, source, tasks.spawn, make_git=lambda: git))
    session.transcript.session.workspace = "/repo"
    panel.set_transcript(session.transcript, asked.submit)
    return panel
