"""The window *Usage*: values from its plots by mouse and keyboard, from its tables, and as CSV."""

import csv
import io

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAccessible
from PySide6.QtTest import QSignalSpy, QTest
from PySide6.QtWidgets import QAbstractButton, QApplication, QComboBox, QLabel, QWidget
from pytestqt.qtbot import QtBot

from desktop_agent.ui.theme import Theme
from desktop_agent.ui.usage.usage_plots import BarPlot, ColumnPlot, Legend
from desktop_agent.ui.usage.usage_window import FigureTable, UsageWindow
from tests.ui.usage.reports import empty, shown


class Seen:
    def __init__(self, theme: Theme, qtbot: QtBot) -> None:
        self.window = UsageWindow(theme)
        qtbot.addWidget(self.window)
        self.qtbot = qtbot
        self.window.resize(1000, 720)
        self.window.show()

    def show(self, by: str = "usageByDayButton") -> None:
        self.window.show_figures(shown())
        self.press(by)

    def press(self, name: str) -> None:
        self.button(name).click()
        self.qtbot.waitUntil(lambda: bool(self.tables()))

    def button(self, name: str) -> QAbstractButton:
        return self.window.findChildren(QAbstractButton, name)[0]

    def label(self, name: str) -> QLabel:
        return self.window.findChildren(QLabel, name)[0]

    def plot(self, name: str) -> ColumnPlot | BarPlot:
        return [*self.window.findChildren(ColumnPlot, name), *self.window.findChildren(BarPlot, name)][0]

    def tables(self) -> list[FigureTable]:
        return [table for table in self.window.findChildren(FigureTable) if table.isVisible()]

    def rows(self) -> list[list[str]]:
        model = self.tables()[0].figures
        return [
            [str(model.index(row, column).data()) for column in range(model.columnCount())]
            for row in range(model.rowCount())
        ]


@pytest.fixture
def seen(theme: Theme, qtbot: QtBot) -> Seen:
    return Seen(theme, qtbot)


def test_the_keyboard_goes_from_day_to_day_and_says_the_values(seen: Seen) -> None:
    seen.show()
    plot = seen.plot("costOverTimePlot")
    assert plot.accessibleDescription() == "≥ $1.50"
    QTest.keyClick(plot, Qt.Key.Key_Left)
    assert plot.accessibleDescription() == "Wed 25 Nov 2026: $1.25, anthropic/opus $1.25"
    QTest.keyClick(plot, Qt.Key.Key_Left)
    said = plot.accessibleDescription().replace("\u202f", " ")
    assert said.startswith("Tue 24 Nov 2026: ≥ $0.25, ")
    assert said.endswith("anthropic/new not known, anthropic/haiku $0.25, price of 2 100 tokens not known")
    QTest.keyClick(plot, Qt.Key.Key_Home)
    assert plot.current == 0
    QTest.keyClick(plot, Qt.Key.Key_Right)
    QTest.keyClick(plot, Qt.Key.Key_End)
    assert plot.current == 6
    QTest.keyClick(plot, Qt.Key.Key_Right)
    assert plot.current == 6


def test_the_mouse_shows_the_values_of_what_it_is_over_and_a_click_keeps_them(seen: Seen) -> None:
    seen.show("usageByToolButton")
    plot = seen.plot("toolErrorsPlot")
    QTest.mouseMove(plot, QPoint(200, 12))
    assert plot.current == 0
    assert plot.accessibleDescription() == "run_terminal_cmd: 3 of 4 (75 %): 3 not found"
    QTest.mouseMove(plot, QPoint(200, 36))
    assert plot.current == 1
    QTest.mouseClick(plot, Qt.MouseButton.LeftButton, pos=QPoint(200, 36))
    QTest.mouseMove(plot, QPoint(200, plot.height() - 1))
    assert plot.current == 1
    QTest.mouseMove(plot, QPoint(200, 12))
    assert plot.current == 0


def test_every_figure_can_be_read_without_a_plot(seen: Seen) -> None:
    seen.show("usageByToolButton")
    assert seen.rows() == [
        ["run_terminal_cmd", "4", "2.5 s", "2.5 s", "2.5 s", "10.0 s", "3 (75 %)", "3 not found"],
        ["grep", "10", "10 ms", "10 ms", "10 ms", "100 ms", "1 (10 %)", "1 not found"],
    ]
    table = seen.tables()[0]
    assert table.accessibleName() == "Usage by tool"
    spoken = table.figures.index(0, 2).data(Qt.ItemDataRole.AccessibleTextRole)
    assert spoken == "P50: 2.5 s"


def test_screen_readers_hear_names_and_values(seen: Seen) -> None:
    seen.show("usageByToolButton")
    plot = seen.plot("toolTimePlot")
    QTest.keyClick(plot, Qt.Key.Key_Home)
    heard = QAccessible.queryAccessibleInterface(plot)
    assert heard.text(QAccessible.Text.Name) == "Time of a call"
    assert heard.text(QAccessible.Text.Description).startswith("run_terminal_cmd: P50 2.5 s, P95 2.5 s, P99 2.5 s")
    for part in seen.window.findChildren(QAbstractButton):
        if part.isVisible():
            assert QAccessible.queryAccessibleInterface(part).text(QAccessible.Text.Name), part.objectName()
    totals = seen.window.findChildren(QWidget, "usageTotals")[0]
    assert totals.accessibleName().startswith("≥ $1.50 for 8 requests, ")


def test_escape_closes_it_for_good(theme: Theme, qtbot: QtBot) -> None:
    window = UsageWindow(theme)
    closed = QSignalSpy(window.finished)
    window.show()
    with qtbot.waitSignal(window.destroyed):
        QTest.keyClick(window, Qt.Key.Key_Escape)
    assert closed.count() == 1


def test_headings_sort_by_value_and_a_third_click_brings_back_the_order(seen: Seen) -> None:
    seen.show("usageByModelButton")
    table = seen.tables()[0]
    before = [row[0] for row in seen.rows()]
    table.sortByColumn(1, Qt.SortOrder.AscendingOrder)
    assert [row[1] for row in seen.rows()] == ["not known", "$0.25", "$1.25"]
    table.sortByColumn(1, Qt.SortOrder.DescendingOrder)
    assert [row[1] for row in seen.rows()] == ["$1.25", "$0.25", "not known"]
    table.sortByColumn(-1, Qt.SortOrder.AscendingOrder)
    assert [row[0] for row in seen.rows()] == before


def test_the_table_is_copied_with_exact_figures(seen: Seen) -> None:
    seen.show("usageByModelButton")
    seen.button("usageCopyButton").click()
    rows = list(csv.DictReader(io.StringIO(QApplication.clipboard().text())))
    assert [(row["model"], row["cost_usd"], row["input_tokens"]) for row in rows] == [
        ("opus", "1.25", "2000"),
        ("new", "", "2000"),
        ("haiku", "0.25", "1000"),
    ]
    assert seen.label("usageNote").text() == "Copied 3 rows"


def test_another_period_is_asked_for(seen: Seen) -> None:
    asked = QSignalSpy(seen.window.period_chosen)
    periods = seen.window.findChildren(QComboBox, "usagePeriod")[0]
    assert seen.window.period == 30
    for index in (0, 2, 3):
        periods.setCurrentIndex(index)
    assert [asked.at(number)[0] for number in range(asked.count())] == [7, 90, None]


def test_reading_is_shown_and_can_be_stopped(seen: Seen) -> None:
    stopped = QSignalSpy(seen.window.cancelled)
    seen.window.show_reading(120, 1_000)
    assert seen.label("usageState").text().replace("\u202f", " ") == "Reading sessions: 120 of 1 000"
    seen.button("usageStopButton").click()
    assert stopped.count() == 1
    seen.show()
    seen.window.show_reading(1, 2)
    assert not seen.label("usageState").isVisible()  # what is there already stays in sight


def test_an_empty_period_says_so_and_what_to_do_and_what_went_wrong_is_said(seen: Seen) -> None:
    seen.window.show_figures(empty())
    state = seen.label("usageState")
    assert state.isVisible()
    assert state.text() == "Nothing is recorded in the last 30 days. Choose a longer period to see more."
    assert not seen.button("usageStopButton").isVisible()
    assert not seen.button("usageCopyButton").isEnabled()
    seen.window.show_problem("The sessions could not be listed. Check the permissions of the data folder.")
    assert "permissions" in state.text()


@pytest.mark.parametrize("width", [1000, 640])
@pytest.mark.parametrize("by", ["usageByDayButton", "usageByModelButton", "usageByToolButton", "usageByFolderButton"])
def test_nothing_is_cut_off_in_a_small_window(seen: Seen, by: str, width: int) -> None:
    seen.show(by)
    seen.window.resize(width, 420)
    seen.qtbot.wait(0)
    plots = (*seen.window.findChildren(ColumnPlot), *seen.window.findChildren(BarPlot))
    for part in (*plots, *seen.window.findChildren(Legend), *seen.tables()):
        if part.isVisible():
            content = part.parentWidget()
            assert isinstance(content, QWidget)
            assert content.rect().contains(part.geometry()), part.objectName()
            assert part.mapTo(seen.window, QPoint(part.width(), 0)).x() <= seen.window.width()


def test_colours_follow_the_theme(seen: Seen, theme: Theme) -> None:
    seen.show()
    plot = seen.plot("tokensOverTimePlot")
    light = plot.grab().toImage()
    theme.choose("dark")
    dark = plot.grab().toImage()
    assert light != dark
    theme.choose("light")
    assert plot.grab().toImage() == light
