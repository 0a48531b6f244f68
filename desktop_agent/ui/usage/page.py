"""One grouping of the figures: two plots, and the table with everything."""

from collections.abc import Iterator

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QFrame, QScrollArea, QWidget

from desktop_agent.core.usage.report import Grouping
from desktop_agent.ui.theme import Space
from desktop_agent.ui.usage.figure_table import FigureTable
from desktop_agent.ui.usage.plot_card import BarCard, ColumnCard
from desktop_agent.ui.usage.shown import Shown
from desktop_agent.ui.widgets.layouts import hairline, vbox

_SIDE_BY_SIDE_FROM = 760
"""From this width on two plots with rows stand beside each other."""


class UsagePage(QScrollArea):
    """Plots above, the table below. It scrolls where there is little room."""

    def __init__(self, plots: tuple[ColumnCard, ColumnCard] | tuple[BarCard, BarCard], table: FigureTable) -> None:
        super().__init__()
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._cards, self._table = plots, table
        self._is_over_time = isinstance(plots[0], ColumnCard)
        self._plots = QBoxLayout(QBoxLayout.Direction.TopToBottom)
        self._plots.setSpacing(Space.L if self._is_over_time else Space.XXL)
        self._content = QWidget()
        self._content.setProperty("role", "surface")
        self._parts = vbox(self._plots, hairline(), on=self._content, margins=(0, 0, Space.S, 0), spacing=Space.M)
        self.setWidget(self._content)

    def fill(self, shown: Shown, by: Grouping) -> Iterator[None]:
        """Show the figures of this grouping, with a pause after each part."""
        for card, data in zip(self._cards, shown.plots[by], strict=True):
            card.show_data(data)
            if self._plots.indexOf(card) < 0:
                self._plots.addWidget(card, 1, Qt.AlignmentFlag.AlignTop)
            yield
        self._table.show_table(shown.tables[by])
        if self._parts.indexOf(self._table) < 0:
            self._parts.addWidget(self._table, 1)
        yield

    def resizeEvent(self, arg__1: QResizeEvent) -> None:
        is_wide = not self._is_over_time and arg__1.size().width() >= _SIDE_BY_SIDE_FROM
        direction = QBoxLayout.Direction.LeftToRight if is_wide else QBoxLayout.Direction.TopToBottom
        if self._plots.direction() != direction:
            self._plots.setDirection(direction)
        super().resizeEvent(arg__1)
