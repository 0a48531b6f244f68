"""A window after weeks of use: many sessions, their costs, and a search."""

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractItemView, QDialog, QListView, QMenu, QSplitter, QWidget

from tests.e2e import used_sessions
from tests.e2e.tour.scene import Scene
from tests.e2e.tour.stopped_time import BEGIN
from tests.e2e.tour.tourist import CTRL, Tourist


async def _play(tour: Tourist) -> None:
    rows = await tour.see(QListView, "sessionList")
    await tour.take("sessions")
    rows.setFocus()
    rows.setCurrentIndex(rows.model().index(2, 0))
    for _ in range(3):
        QTest.keyClick(rows, Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
    await tour.see(QWidget, "selectionBar")
    await tour.take("sessions-chosen")
    await tour.press(Qt.Key.Key_Escape)
    await _grouped(tour)
    await tour.press(Qt.Key.Key_F, CTRL | Qt.KeyboardModifier.ShiftModifier)
    await tour.see(QWidget, "searchPanel")
    await tour.user.type("searchField", "look")
    results = await tour.see(QAbstractItemView, "searchResults")
    await tour.until(lambda: results.model().rowCount() > 5, "something is found")
    await tour.take("search")
    await tour.press(Qt.Key.Key_Escape)
    tour.window.actions_.usage.trigger()
    window = await tour.see(QDialog, "usageWindow")
    plot = await tour.see(QWidget, "costOverTimePlot")
    await tour.see(QWidget, "usageDayTable")
    plot.setFocus()
    for _ in range(5):
        QTest.keyClick(plot, Qt.Key.Key_Left)
    await tour.take("usage", window)


async def _grouped(tour: Tourist) -> None:
    menu = tour.window.findChild(QMenu, "arrangeSessionsMenu")
    assert menu
    rows = await tour.see(QListView, "sessionList")
    files = await tour.see(QAbstractItemView, "fileTree")
    split = next(each for each in tour.window.findChildren(QSplitter) if each.isAncestorOf(rows))
    assert split.isAncestorOf(files)
    split.setSizes([3 * split.height() // 4, split.height() // 4])
    for words in ("Folder", "Show turns and cost"):
        next(each for each in menu.actions() if each.text() == words).trigger()
    rows.verticalScrollBar().setValue(0)
    await tour.take("sessions-grouped")
    for words in ("This folder first", "Show turns and cost"):
        next(each for each in menu.actions() if each.text() == words).trigger()
    split.setSizes([split.height() // 3, 2 * split.height() // 3])


USED = Scene(
    states=("sessions", "sessions-chosen", "sessions-grouped", "search", "usage"),
    play=_play,
    prepare=lambda _: used_sessions.write(BEGIN),
)
