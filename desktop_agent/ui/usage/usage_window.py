"""The usage window: time, tokens, cost and errors of all sessions, by day, model, tool and folder."""

from collections.abc import Iterator, Sequence

from PySide6.QtCore import QAbstractTableModel, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFontMetrics, QKeySequence, QPainter, QPen, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QApplication,
    QBoxLayout,
    QButtonGroup,
    QDialog,
    QFrame,
    QLabel,
    QProgressBar,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QStackedWidget,
    QStyle,
    QStyleOptionViewItem,
    QTableView,
    QWidget,
)

from desktop_agent.core.usage.report import GROUPINGS, Grouping, csv_text, records
from desktop_agent.ui.runtime.pacing import GradualWork
from desktop_agent.ui.theme import Height, Space, Theme, TypeSize
from desktop_agent.ui.translation import plural
from desktop_agent.ui.usage.usage_plots import BarPlot, ColumnPlot, PlotCard
from desktop_agent.ui.usage.usage_report import Shown, Table
from desktop_agent.ui.widgets.buttons import Picker, make_button
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.layouts import (
    STRETCH,
    hairline,
    hbox,
    resize_within_screen,
    scroll_down,
    set_names,
    set_up_dialog,
    vbox,
)
from desktop_agent.ui.widgets.rows import LEFT, NO_PARENT, RIGHT, AnyIndex, FocusRing, RowDelegate, set_up_table
from desktop_agent.ui.wording import counted

PADDING = 11
_LEFT, _RIGHT = (side.value | Qt.TextFlag.TextSingleLine.value for side in (LEFT, RIGHT))
"""Alignments as numbers: combining Python enumerations takes as long as drawing a word."""


class CellDelegate(RowDelegate):
    def __init__(self, theme: Theme, ring: FocusRing) -> None:
        super().__init__(theme, ring, ring, TypeSize.SECONDARY)
        self.text_columns: tuple[int, ...] = (0,)
        self._take_look()
        theme.changed.connect(self._take_look)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: AnyIndex) -> None:
        rect, is_selected = QRectF(option.rect), bool(option.state & QStyle.StateFlag.State_Selected)
        if is_selected:
            painter.fillRect(rect, self._chosen)
        painter.setPen(self._line)
        painter.drawLine(rect.bottomLeft() - QPointF(0, 1), rect.bottomRight() - QPointF(0, 1))
        painter.setFont(self.text_font)
        painter.setPen(self._chosen_text if is_selected else self._text)
        text, room = str(index.data()), rect.adjusted(PADDING, 0, -PADDING, 0)
        if self._metrics.horizontalAdvance(text) > room.width():
            text = self._metrics.elidedText(text, Qt.TextElideMode.ElideMiddle, int(room.width()))
        painter.drawText(room, _LEFT if index.column() in self.text_columns else _RIGHT, text)
        if self.ring.is_shown and option.state & QStyle.StateFlag.State_HasFocus:
            painter.setPen(self._focus)
            painter.drawRect(rect.adjusted(1, 1, -1, -2))

    def _take_look(self) -> None:
        theme = self.theme
        self._metrics = QFontMetrics(self.text_font)
        self._line = QPen(theme.colour("border"), 1)
        self._focus = QPen(theme.colour("accent"), 2)
        self._text, self._chosen_text = theme.colour("text"), theme.colour("accent_text")
        self._chosen = theme.colour("accent_weak")


_LEAST_NAME = 140
_LEAST_TEXT = 160
_HEADINGS = Height.LIST_ROW
_SHOWN_ROWS = 5
_MEASURED = 3
_SORT_SIGN = 8


class FigureModel(QAbstractTableModel):
    def __init__(self) -> None:
        super().__init__()
        self._table = Table((), ())
        self._rows = list(self._table.rows)

    def show_table(self, table: Table) -> None:
        self.beginResetModel()
        self._table = table
        self._rows = list(table.rows)
        self.endResetModel()

    def rowCount(self, parent: AnyIndex = NO_PARENT) -> int:
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: AnyIndex = NO_PARENT) -> int:
        return 0 if parent.isValid() else len(self._table.headings)

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        text, _ = self._rows[index.row()][index.column()]
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return text
            case Qt.ItemDataRole.ToolTipRole if index.column() == 0 or len(text) > 20:
                return text
            case Qt.ItemDataRole.AccessibleTextRole:
                return f"{self._table.headings[index.column()]}: {text}"
            case Qt.ItemDataRole.TextAlignmentRole:
                return self._side(index.column())
            case _:
                return None

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if orientation != Qt.Orientation.Horizontal or section >= len(self._table.headings):
            return None
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return self._side(section)
        return self._table.headings[section] if role == Qt.ItemDataRole.DisplayRole else None

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        self.layoutAboutToBeChanged.emit()
        if column < 0:
            self._rows = list(self._table.rows)
        elif column < len(self._table.headings):
            is_down = order == Qt.SortOrder.DescendingOrder
            self._rows = sorted(self._table.rows, key=lambda row: row[column][1:], reverse=is_down)
        self.layoutChanged.emit()

    def _side(self, column: int) -> Qt.AlignmentFlag:
        is_text = column in self._table.texts
        return Qt.AlignmentFlag.AlignVCenter | (Qt.AlignmentFlag.AlignLeft if is_text else Qt.AlignmentFlag.AlignRight)


class FigureTable(QTableView):
    def __init__(self, theme: Theme, object_name: str, accessible_name: str) -> None:
        super().__init__()
        set_names(self, object_name, accessible_name)
        self.figures = FigureModel()
        self._widths: list[int] = []
        self.setModel(self.figures)
        self._cells = CellDelegate(theme, FocusRing(self))
        self.setItemDelegate(self._cells)
        self.setFrameShape(QFrame.Shape.NoFrame)
        set_up_table(self)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setMinimumHeight(_HEADINGS + _SHOWN_ROWS * Height.LIST_ROW)
        headings = self.horizontalHeader()
        headings.setHighlightSections(False)
        headings.setFixedHeight(_HEADINGS)
        headings.setSortIndicatorClearable(True)
        headings.setMinimumSectionSize(_HEADINGS)
        self.setSortingEnabled(True)

    def show_table(self, table: Table) -> None:
        headings = self.horizontalHeader()
        headings.setSortIndicator(-1, Qt.SortOrder.DescendingOrder)
        self.figures.show_table(table)
        self._cells.text_columns = table.texts
        headings.setStretchLastSection(len(table.headings) - 1 in table.texts)
        metrics, strong = QFontMetrics(self._cells.text_font), headings.fontMetrics()
        self._widths = []
        for column, heading in enumerate(table.headings):
            # Only the longest texts are measured: measuring every cell takes longer than drawing them all.
            longest = sorted({row[column][0] for row in table.rows}, key=lambda text: (len(text), text))[-_MEASURED:]
            width = max([strong.horizontalAdvance(heading) + _SORT_SIGN, *map(metrics.horizontalAdvance, longest)])
            self._widths.append(width + 2 * PADDING + 4)
        self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        headings, widths = self.horizontalHeader(), list(self._widths)
        if not widths:
            return
        if headings.stretchLastSection():
            widths[-1] = min(widths[-1], _LEAST_TEXT)
        spare = self.viewport().width() - sum(widths)
        if spare < 0 or not headings.stretchLastSection():
            widths[0] = max(min(widths[0], _LEAST_NAME), widths[0] + spare)
        for column, width in enumerate(widths):
            headings.resizeSection(column, width)


_SIDE_BY_SIDE_FROM = 760


class UsagePage(QScrollArea):
    def __init__(self, cards: tuple[PlotCard, PlotCard], table: FigureTable) -> None:
        super().__init__()
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._cards, self._table = cards, table
        self._is_over_time = cards[0].is_over_time
        self._plots = QBoxLayout(QBoxLayout.Direction.TopToBottom)
        self._plots.setSpacing(Space.L if self._is_over_time else Space.XXL)
        self._content = QWidget()
        self._content.setProperty("role", "surface")
        self._parts = vbox(self._plots, hairline(), on=self._content, margins=(0, 0, Space.S, 0), spacing=Space.M)
        scroll_down(self, self._content)

    def fill(self, shown: Shown, by: Grouping) -> Iterator[None]:
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


class UsagePages(QStackedWidget):
    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._shown: Shown | None = None
        self._pages: dict[Grouping, UsagePage] = {}
        self._filled: set[Grouping] = set()
        self._work = GradualWork(self, slice_s=0)

    def show_figures(self, shown: Shown, by: Grouping) -> None:
        self._shown = shown
        self._filled.clear()
        self.show_page(by)

    def show_page(self, by: Grouping) -> None:
        if by not in self._pages:
            theme = self._theme
            match by:
                case "day":
                    table = FigureTable(theme, "usageDayTable", self.tr("Usage by day"))
                    first = PlotCard(self.tr("Cost over time"), ColumnPlot(theme), "costOverTimePlot")
                    second = PlotCard(self.tr("Tokens over time"), ColumnPlot(theme), "tokensOverTimePlot")
                case "model":
                    table = FigureTable(theme, "usageModelTable", self.tr("Usage by model"))
                    first = PlotCard(self.tr("Time for an answer"), BarPlot(theme), "answerTimePlot")
                    second = PlotCard(self.tr("Cost"), BarPlot(theme), "costByModelPlot")
                case "tool":
                    table = FigureTable(theme, "usageToolTable", self.tr("Usage by tool"))
                    first = PlotCard(self.tr("Time of a call"), BarPlot(theme), "toolTimePlot")
                    second = PlotCard(self.tr("Failed calls"), BarPlot(theme), "toolErrorsPlot")
                case "folder":
                    table = FigureTable(theme, "usageFolderTable", self.tr("Usage by folder"))
                    first = PlotCard(self.tr("Cost"), BarPlot(theme), "costByFolderPlot")
                    second = PlotCard(self.tr("Time of turns"), BarPlot(theme), "timeByFolderPlot")
            self._pages[by] = page = UsagePage((first, second), table)
            self.addWidget(page)
        self.setCurrentWidget(self._pages[by])
        if self._shown is not None and by not in self._filled:
            self._work.begin(self._fill(self._shown, by))

    def _fill(self, shown: Shown, by: Grouping) -> Iterator[None]:
        yield
        yield from self._pages[by].fill(shown, by)
        self._filled.add(by)


_BAR_WIDTH = 280


class UsageProgress(QWidget):
    cancelled = Signal()

    def __init__(self) -> None:
        super().__init__()
        centre = Qt.AlignmentFlag.AlignHCenter
        self._text = make_label(role="secondary", object_name="usageState", wraps=True, is_plain=True)
        self._text.setAlignment(centre)
        self._text.setFixedWidth(460)
        self._bar = QProgressBar()
        set_names(self._bar, "usageProgress", self.tr("Reading progress"))
        self._bar.setTextVisible(False)
        self._bar.setFixedSize(_BAR_WIDTH, Space.XS)
        self._cancel = make_button(self.tr("Stop reading"), object_name="usageStopButton", clicked=self.cancelled)
        parts = ((self._text, centre), (self._bar, centre), (self._cancel, centre))
        vbox(STRETCH, *parts, STRETCH, on=self, spacing=Space.M)

    def show_reading(self, done: int, total: int) -> None:
        """Show how many sessions were read. `total` is 0 until it is known."""
        text = self.tr("Reading sessions: {0} of {1}") if total else self.tr("Reading sessions…")
        self._text.setText(text.format(counted(done), counted(total)))
        self._bar.setRange(0, total)
        self._bar.setValue(done)
        self._bar.show()
        self._cancel.show()

    def show_words(self, text: str) -> None:
        self._text.setText(text)
        self._bar.hide()
        self._cancel.hide()


class Totals(QWidget):
    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("usageTotals")
        self._labels = [(_label("title"), _label("secondary")) for _ in range(4)]
        cells = (vbox(value, name, STRETCH, spacing=2) for value, name in self._labels)
        hbox(*((cell, 1) for cell in cells), on=self, spacing=Space.L)

    def show_totals(self, totals: Sequence[tuple[str, str]]) -> None:
        for labels, texts in zip(self._labels, totals, strict=True):
            for label, text in zip(labels, texts, strict=True):
                label.setText(text)
        self.setAccessibleName(", ".join(f"{value} {name}" for value, name in totals))


def _label(role: str) -> QLabel:
    label = make_label(role=role, is_plain=True, is_selectable=True, wraps=role == "secondary")
    label.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
    return label


PERIODS: tuple[int | None, ...] = (7, 30, 90, None)
"""The periods in days, including today; None for all time."""
_USUAL = 1


class UsageWindow(QDialog):
    period_chosen = Signal(object)  # the number of days until today; None for all
    cancelled = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        set_up_dialog(self, "usageWindow", self.tr("Usage"))
        self._shown: Shown | None = None
        name = self.tr("Period")
        choices = [
            (plural("UsageWindow", days, "Last day", "Last %n days") if days is not None else self.tr("All days"), days)
            for days in PERIODS
        ]
        self._period = Picker(self, object_name="usagePeriod", accessible_name=name, choices=choices, min_chars=12)
        self._period.fit()
        self._period.setCurrentIndex(_USUAL)
        self._period.currentIndexChanged.connect(self._on_period)
        self._groups = QButtonGroup(self)
        buttons = self._build_groups()
        tooltip = self.tr("The table below, with exact figures, for a spreadsheet")
        self._copy = make_button(self.tr("Copy as CSV"), "usageCopyButton", clicked=self._copy_csv, tooltip=tooltip)
        self._note = make_label(role="secondary", object_name="usageNote", is_plain=True)
        self._totals = Totals()
        self._warning = make_label(role="warning", object_name="usageWarning", wraps=True, is_plain=True)
        self._progress = UsageProgress()
        self._progress.cancelled.connect(self.cancelled)
        self._pages = UsagePages(theme)
        self._stack = QStackedWidget()
        self._stack.addWidget(self._progress)
        self._stack.addWidget(self._pages)
        head = hbox(self._period, Space.M, *buttons, STRETCH, self._note, Space.M, self._copy, spacing=Space.XS)
        parts = (head, self._totals, self._warning, hairline(), (self._stack, 1))
        vbox(*parts, on=self, margins=(Space.XL, Space.L, Space.XL, Space.L), spacing=Space.M)
        self.show_reading(0, 0)
        resize_within_screen(self, QSize(1000, 720), QSize(640, 420))

    @property
    def period(self) -> int | None:
        return self._period.currentData()

    @property
    def grouping(self) -> Grouping:
        return GROUPINGS[self._groups.checkedId()]

    def show_reading(self, done: int, total: int) -> None:
        if self._shown is None:
            self._progress.show_reading(done, total)
            self._show_parts()

    def show_problem(self, text: str) -> None:
        self._shown = None
        self._progress.show_words(text)
        self._show_parts()

    def show_figures(self, shown: Shown, note: str = "") -> None:
        """Show these figures. `note` says which figures are missing."""
        self._shown = shown
        self._note.setText(note)
        self._totals.show_totals(shown.totals)
        if shown.is_empty:
            self._progress.show_words(self._nothing())
        else:
            self._pages.show_figures(shown, self.grouping)
        self._show_parts()

    # -- building --

    def _build_groups(self) -> list[QPushButton]:
        names = (
            (self.tr("By day"), "usageByDayButton"),
            (self.tr("By model"), "usageByModelButton"),
            (self.tr("By tool"), "usageByToolButton"),
            (self.tr("By folder"), "usageByFolderButton"),
        )
        buttons: list[QPushButton] = []
        for number, (text, object_name) in enumerate(names):
            button = make_button(text, object_name=object_name, variant="flat", is_checkable=True)
            button.setShortcut(QKeySequence(f"Alt+{number + 1}"))
            button.setToolTip(button.shortcut().toString(QKeySequence.SequenceFormat.NativeText))
            self._groups.addButton(button, number)
            buttons.append(button)
        buttons[0].setChecked(True)
        self._groups.idClicked.connect(self._on_group)
        return buttons

    # -- what the user does --

    def _on_period(self) -> None:
        self._note.clear()
        self.period_chosen.emit(self.period)

    def _on_group(self) -> None:
        self._note.clear()
        if self._shown is not None and not self._shown.is_empty:
            self._pages.show_page(self.grouping)

    def _copy_csv(self) -> None:
        if self._shown is not None:
            rows = records(self._shown.report, self.grouping)
            QApplication.clipboard().setText(csv_text(rows))
            self._note.setText(self.tr("Copied {0} rows").format(counted(len(rows))))

    # -- what is in sight --

    def _show_parts(self) -> None:
        shown = self._shown
        has_figures = shown is not None and not shown.is_empty
        self._stack.setCurrentWidget(self._pages if has_figures else self._progress)
        self._totals.setVisible(has_figures)
        self._warning.setText(shown.warning if shown is not None else "")
        self._warning.setVisible(bool(self._warning.text()))
        self._copy.setEnabled(has_figures)

    def _nothing(self) -> str:
        if self.period is None:
            return self.tr("Nothing is recorded yet. Ask the agent something, and it is counted here.")
        words = "Nothing is recorded in the last %n days. Choose a longer period to see more."
        return plural("UsageWindow", self.period, words, words)
