"""A user's counted actions: clicks on visible things, and keys for the focused window.

Events enter at the window, like those of the X server, so that shortcuts, popups, modal dialogs and covering widgets
have their effect. Nothing here sets the focus.
"""

import asyncio
from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QModelIndex, QPoint, Qt, QTimer
from PySide6.QtGui import QKeySequence, QWindow
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QAbstractItemView, QApplication, QMenu, QWidget

from desktop_agent.ui.review.diff.diff_review import HunkActions
from desktop_agent.ui.review.diff.diff_view import DiffView
from tests.e2e.driver import PATIENCE_S, Driver

_LEFT, _RIGHT = Qt.MouseButton.LeftButton, Qt.MouseButton.RightButton
_LOOKS_AT_REST = 4

Place = Callable[[], QPoint]


class Keyboard:
    """Presses keys and types. `actions` counts chords, and texts typed in one go."""

    def __init__(self, user: Driver) -> None:
        self.user = user
        self.actions = 0

    async def press(self, keys: str, times: int = 1) -> None:
        """Press a chord such as `Ctrl+K` in the focused window."""
        for _ in range(times):
            await self._tap(keys)
            self.actions += 1

    async def write(self, text: str) -> None:
        window = await self._window()
        await _outside_of_tasks(lambda: [_type(window, sign) for sign in text])
        self.actions += 1

    async def _tap(self, keys: str) -> None:
        window = await self._window()
        await _outside_of_tasks(lambda: QTest.keySequence(window, QKeySequence(keys)))

    async def _window(self) -> QWindow:
        """Return the focused window; without a window manager, activate the one in front."""
        return _handle(await self.user.until(self._front, "a window has the keyboard"))

    def _front(self) -> QWidget | None:
        if (popup := QApplication.activePopupWidget()) is not None:
            return popup
        modal, active = QApplication.activeModalWidget(), QApplication.activeWindow()
        wanted = modal or (active if active and active.isVisible() else self.user.window.main_window)
        if active is wanted:
            return wanted
        wanted.activateWindow()
        return None


class Mouse(Keyboard):
    """Clicks; typed texts are the only use of the keyboard."""

    async def press(self, keys: str, times: int = 1) -> None:
        raise AssertionError(f"{keys} is not on a mouse")

    async def click(self, name: str) -> None:
        await self.click_in(await self.user.see(QWidget, name))

    async def click_words(self, words: str) -> None:
        await self.click_in(
            await self.user.until(lambda: button_that_says(self.user, words), f"{words!r} can be clicked")
        )

    async def click_at_change(self, number: int, name: str) -> None:
        """Click a button of a change in the shown diff. Its buttons are where the mouse is."""
        view = await self.user.see(DiffView, "diffView")
        port, window = view.viewport(), _handle(view.window())

        def row() -> int:
            return view.document.rows.changes[number]

        def button() -> QWidget | None:
            found = [each for each in port.findChildren(HunkActions) if each.isVisible() and each.row == row()]
            return found[0].findChild(QWidget, name) if found else None

        async with asyncio.timeout(PATIENCE_S):
            while (found := button()) is None:  # a diff that is drawn again forgets the mouse until it moves
                place = port.mapTo(view.window(), view.scroller.row_rect(row()).center())
                await _outside_of_tasks(partial(QTest.mouseMove, window, place))
                await self.user.pause()
        await self.click_in(found)

    async def click_in(
        self, widget: QWidget, at: Place | QPoint | None = None, *, is_menu: bool = False, is_double: bool = False
    ) -> None:
        """Click in a widget at its middle or at a point; with the right button for its menu."""
        point = at if callable(at) else lambda: at or widget.rect().center()
        await self._see_resting(widget, point)
        window, button = _handle(widget.window()), _RIGHT if is_menu else _LEFT
        place = widget.mapTo(widget.window(), point())
        if is_double:
            await _outside_of_tasks(lambda: QTest.mouseDClick(window, button, pos=place))
        else:
            await _outside_of_tasks(lambda: QTest.mousePress(window, button, pos=place))
            await _outside_of_tasks(lambda: QTest.mouseRelease(window, button, pos=place))
        self.actions += 1

    async def click_row(self, rows: QAbstractItemView, words: str, *, is_menu: bool = False) -> None:
        def row() -> QModelIndex | None:
            model = rows.model()
            found = (model.index(number, 0) for number in range(model.rowCount()))
            return next((index for index in found if str(index.data()).startswith(words)), None)

        def middle() -> QPoint:
            found = row()  # look again each time: rows may be inserted before it
            return rows.visualRect(found).center() if found is not None else QPoint(-1, -1)

        await self.user.until_true(lambda: row() is not None, f"{words!r} is listed")
        await self.click_in(rows.viewport(), middle, is_menu=is_menu)

    async def choose(self, words: str) -> None:
        popup = QApplication.activePopupWidget()
        assert isinstance(popup, QMenu)
        line = next(each for each in popup.actions() if each.text().startswith(words))
        await self.click_in(popup, popup.actionGeometry(line).center())

    async def drag(self, what: QWidget, onto: QWidget) -> None:
        window = what.window()
        for each in (what, onto):
            await self._see_resting(each, partial(_left_end, each))
        start, end = (each.mapTo(window, _left_end(each)) for each in (what, onto))
        end.setY(end.y() - onto.height() // 3)
        steps = [start + (end - start) * part / 4 for part in range(1, 5)]
        handle = _handle(window)
        await _outside_of_tasks(lambda: QTest.mousePress(handle, _LEFT, pos=start))
        for step in steps:
            await _outside_of_tasks(partial(QTest.mouseMove, handle, step))
        await _outside_of_tasks(lambda: QTest.mouseRelease(handle, _LEFT, pos=end))
        self.actions += 1

    async def _see_resting(self, widget: QWidget, point: Place) -> None:
        """Wait until the point of the widget is visible and no longer moves."""
        places: list[QPoint] = []

        def rests() -> bool:
            where = widget.mapToGlobal(point())
            places[:] = [*places, where][-_LOOKS_AT_REST:] if _is_open_to_view(widget, where) else []
            return places == [where] * _LOOKS_AT_REST

        await self.user.until_true(rests, f"{widget} is in sight and rests")


def _left_end(widget: QWidget) -> QPoint:
    return QPoint(4, widget.height() // 2)


def button_that_says(user: Driver, words: str) -> QWidget | None:
    for widget in QApplication.allWidgets():
        if isinstance(widget, QAbstractButton) and widget.isVisible() and widget.isEnabled():
            said = widget.text() or widget.accessibleName()
            if said.startswith(words):
                return widget
    return None


def _is_open_to_view(widget: QWidget, where: QPoint) -> bool:
    found = QApplication.widgetAt(where)
    return found is not None and (found is widget or widget.isAncestorOf(found))


def _type(window: QWindow, sign: str) -> None:
    QTest.keyClick(window, Qt.Key.Key_Return) if sign == "\n" else QTest.keyClick(window, ord(sign))


def _handle(window: QWidget) -> QWindow:
    handle = window.windowHandle()
    assert handle is not None
    return handle


async def _outside_of_tasks(act: Callable[[], object]) -> None:
    """Act from the event loop, as events of the X server do, since Qt then runs other tasks.

    A button's menu opens in a nested loop: its opener waits until it is closed.
    """
    done: list[bool] = []

    def run() -> None:
        act()
        done.append(True)

    QTimer.singleShot(0, run)
    before = QApplication.activePopupWidget()
    while not done and QApplication.activePopupWidget() in (None, before):  # noqa: ASYNC110 - Qt tells of neither
        await asyncio.sleep(0.001)
