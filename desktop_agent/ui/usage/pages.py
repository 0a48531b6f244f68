"""The four groupings of the figures, one in sight at a time."""

from collections.abc import Iterator

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QStackedWidget

from desktop_agent.core.usage.report import Grouping
from desktop_agent.ui.theme import Theme
from desktop_agent.ui.usage.figure_table import FigureTable
from desktop_agent.ui.usage.page import UsagePage
from desktop_agent.ui.usage.plot_card import BarCard, ColumnCard
from desktop_agent.ui.usage.shown import Shown


class UsagePages(QStackedWidget):
    """A page for each grouping. What a page shows is given to it when it comes in sight."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._shown: Shown | None = None
        self._pages: dict[Grouping, UsagePage] = {}
        self._filled: set[Grouping] = set()
        self._work: Iterator[None] = iter(())
        self._turn = QTimer(self, singleShot=True, interval=0)
        self._turn.timeout.connect(self._go_on)

    def show_figures(self, shown: Shown, by: Grouping) -> None:
        """Show these from now on, in this grouping."""
        self._shown = shown
        self._filled.clear()
        self.show_page(by)

    def show_page(self, by: Grouping) -> None:
        """Show another grouping of the same figures; part after part, so that no turn of the loop is a long one."""
        if by not in self._pages:
            self._pages[by] = page = self._build(by)
            self.addWidget(page)
        self.setCurrentWidget(self._pages[by])
        if self._shown is not None and by not in self._filled:
            self._work = self._fill(self._shown, by)
            self._turn.start()

    def _fill(self, shown: Shown, by: Grouping) -> Iterator[None]:
        yield from self._pages[by].fill(shown, by)
        self._filled.add(by)

    def _go_on(self) -> None:
        for _ in self._work:
            self._turn.start()
            return

    def _build(self, by: Grouping) -> UsagePage:
        theme = self._theme
        table = FigureTable(theme)
        match by:
            case "day":
                table.setObjectName("usageDayTable")
                table.setAccessibleName(self.tr("Usage by day"))
                costs = ColumnCard(theme, self.tr("Cost over time"), "costOverTimePlot")
                return UsagePage((costs, ColumnCard(theme, self.tr("Tokens over time"), "tokensOverTimePlot")), table)
            case "model":
                table.setObjectName("usageModelTable")
                table.setAccessibleName(self.tr("Usage by model"))
                times = BarCard(theme, self.tr("Time for an answer"), "answerTimePlot")
                return UsagePage((times, BarCard(theme, self.tr("Cost"), "costByModelPlot")), table)
            case "tool":
                table.setObjectName("usageToolTable")
                table.setAccessibleName(self.tr("Usage by tool"))
                times = BarCard(theme, self.tr("Time of a call"), "toolTimePlot")
                return UsagePage((times, BarCard(theme, self.tr("Failed calls"), "toolErrorsPlot")), table)
            case "folder":
                table.setObjectName("usageFolderTable")
                table.setAccessibleName(self.tr("Usage by folder"))
                costs = BarCard(theme, self.tr("Cost"), "costByFolderPlot")
                return UsagePage((costs, BarCard(theme, self.tr("Time of turns"), "timeByFolderPlot")), table)
