"""By keyboard alone: Tab reaches every control, and the focus is always visible."""

from collections.abc import Sequence
from operator import ne

import pytest
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import QImage
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QComboBox,
    QLineEdit,
    QPlainTextEdit,
    QTextEdit,
    QWidget,
)

from desktop_agent.core.protocol.model import Allowed
from desktop_agent.core.protocol.ops import AnswerApproval
from desktop_agent.ui.chat.entries.markdown_entries import ThinkingWidget
from desktop_agent.ui.window.main_window import MainWindow
from tests.app.conftest import Go
from tests.e2e.driver import Driver

pytestmark = pytest.mark.usefixtures("qapp")

CONTROLS = (QAbstractButton, QAbstractItemView, QComboBox, QLineEdit, QPlainTextEdit, QTextEdit)
AROUND = 14
"""How far around a control its focus ring may be, in pixels: the message field has the composer's ring."""

LEAST_CHANGED = 24
"""Pixels that change with the focus: the shortest ring has more, a caret alone has fewer."""


async def to_the_end_of_a_turn(user: Driver) -> None:
    panels = user.window.panels
    await user.until_true(lambda: "One of the tests" in panels.composer.text(), "a prompt is offered")
    await user.click("sendButton")
    answered: set[str] = set()

    def is_over() -> bool:
        handle = panels.session.handle
        if handle is None:
            return False
        for request in handle.transcript.pending_approvals:
            if request.call_id not in answered:
                answered.add(request.call_id)
                handle.submit(AnswerApproval(call_id=request.call_id, decision=Allowed(scope="once")))
        return handle.transcript.turn > 0 and not handle.transcript.turns.is_running

    await user.until_true(is_over, "the turn has ended")
    if panels.review.isVisible():
        await user.see(QWidget, "keepHunkButton")
    panels.transcript.verticalScrollBar().setValue(0)  # Tab goes on from where the user reads
    await user.until_true(lambda: bool(panels.transcript.findChildren(ThinkingWidget)), "the first rows are there")


def name_of(widget: QWidget) -> str:
    return " ".join(filter(None, (type(widget).__name__, widget.objectName(), widget.accessibleName())))


async def walk(user: Driver, start: QWidget) -> tuple[list[QWidget], list[str]]:
    """Press Tab until the focus is back at the start. Return the stops, and those that look the same with focus."""
    window = user.window.main_window
    start.setFocus(Qt.FocusReason.TabFocusReason)
    stops: list[QWidget] = []
    unseen: list[str] = []
    while (now := window.focusWidget()) not in stops:
        assert now is not None
        stops.append(now)
        if looks_the_same(now, window):
            unseen.append(name_of(now))
        await user.press(Qt.Key.Key_Tab)
    return stops, unseen


def controls(window: QWidget) -> list[QWidget]:
    return [
        widget
        for widget in window.findChildren(QWidget)
        if isinstance(widget, CONTROLS) and widget.isVisible() and widget.isEnabled() and widget.window() is window
    ]


def missing(stops: Sequence[QWidget], window: QWidget) -> list[str]:
    reached = {*stops, *(stop.focusProxy() for stop in stops)}
    return [name_of(control) for control in controls(window) if control not in reached]


def looks_the_same(stop: QWidget, window: MainWindow) -> bool:
    area = QRect(stop.mapTo(window, QPoint(0, 0)), stop.size()).adjusted(-AROUND, -AROUND, AROUND, AROUND)
    area &= window.rect()
    assert not area.isEmpty(), f"{name_of(stop)} is out of sight"
    focused = picture(window, area)
    bar = window.top_bar
    away = bar.workspace_button if stop is bar.menu_button else bar.menu_button
    away.setFocus(Qt.FocusReason.OtherFocusReason)
    unfocused = picture(window, area)
    stop.setFocus(Qt.FocusReason.TabFocusReason)
    return changed_pixels(focused, unfocused) < LEAST_CHANGED


def picture(window: QWidget, area: QRect) -> QImage:
    return window.grab(area).toImage().convertToFormat(QImage.Format.Format_RGB32)


def changed_pixels(one: QImage, other: QImage) -> int:
    assert one.size() == other.size()
    before, after = memoryview(one.constBits()).cast("I"), memoryview(other.constBits()).cast("I")
    return sum(map(ne, before, after))


@pytest.mark.parametrize("size", [(1440, 900), (1024, 700)])
def test_tab_comes_to_every_control_and_it_can_be_seen_where(go: Go, size: tuple[int, int]) -> None:
    async def journey(user: Driver) -> None:
        window = user.window.main_window
        window.resize(*size)
        await to_the_end_of_a_turn(user)
        await user.activate()
        stops, unseen = await walk(user, user.composer.edit)
        assert missing(stops, window) == []
        assert unseen == []

    go(["--demo"], journey)
