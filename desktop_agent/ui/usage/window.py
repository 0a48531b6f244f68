"""*Usage*: time, tokens, cost and errors of all sessions, by day, model, tool and folder."""

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QApplication, QButtonGroup, QDialog, QPushButton, QStackedWidget, QWidget

from desktop_agent.core.usage.report import GROUPINGS, Grouping, csv_text, records
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.translation.plurals import plural
from desktop_agent.ui.usage.pages import UsagePages
from desktop_agent.ui.usage.progress import UsageProgress
from desktop_agent.ui.usage.shown import Shown
from desktop_agent.ui.usage.totals import Totals
from desktop_agent.ui.widgets.buttons import make_button
from desktop_agent.ui.widgets.context_meter import counted
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.layouts import STRETCH, hairline, hbox, vbox
from desktop_agent.ui.widgets.picker import Picker
from desktop_agent.ui.widgets.screen_room import resize_within_screen

_SIZE = QSize(1000, 720)
_LEAST = QSize(640, 420)
PERIODS: tuple[int | None, ...] = (7, 30, 90, None)
"""In days, today too; None: from the beginning."""
_USUAL = 1


class UsageWindow(QDialog):
    """A window of its own beside the conversation. It shows what it is given, and deletes itself when it is closed.

    Signals:
        period_chosen: the user wants to see the last so many days (an `int`), or all of them (`None`).
        cancelled: the user wants no more to be read.
        finished: it is closed, and about to be gone, however that happened.
    """

    period_chosen = Signal(object)
    cancelled = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("usageWindow")
        self.setWindowTitle(self.tr("Usage"))
        self.setAccessibleName(self.windowTitle())
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._shown: Shown | None = None
        self._period = self._build_period()
        self._groups = QButtonGroup(self)
        buttons = self._build_groups()
        self._copy = make_button(self.tr("Copy as CSV"), object_name="usageCopyButton", clicked=self._copy_csv)
        self._copy.setToolTip(self.tr("The table below, with exact figures, for a spreadsheet"))
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
        resize_within_screen(self, _SIZE, _LEAST)

    @property
    def period(self) -> int | None:
        """How many days are wanted; None for all."""
        return PERIODS[self._period.currentIndex()]

    @property
    def grouping(self) -> Grouping:
        """What the figures are grouped by."""
        return GROUPINGS[self._groups.checkedId()]

    def show_reading(self, done: int, total: int) -> None:
        """Say how far reading has come, unless there is something to see already."""
        if self._shown is None:
            self._progress.show_reading(done, total)
            self._show_parts()

    def show_problem(self, text: str) -> None:
        """Say what went wrong."""
        self._shown = None
        self._progress.show_words(text)
        self._show_parts()

    def show_figures(self, shown: Shown, note: str = "") -> None:
        """Show these from now on; `note` says what is missing in them."""
        self._shown = shown
        self._note.setText(note)
        self._totals.show_totals(shown.totals)
        if shown.is_empty:
            self._progress.show_words(self._nothing())
        else:
            self._pages.show_figures(shown, self.grouping)
        self._show_parts()

    # -- building --

    def _build_period(self) -> Picker:
        period = Picker(self, min_chars=12)
        period.setObjectName("usagePeriod")
        period.setAccessibleName(self.tr("Period"))
        for days in PERIODS:
            period.addItem(
                plural("UsageWindow", days, "Last day", "Last %n days") if days is not None else self.tr("All days")
            )
        period.fit()
        period.setCurrentIndex(_USUAL)
        period.currentIndexChanged.connect(self._on_period)
        return period

    def _build_groups(self) -> list[QPushButton]:
        buttons = [
            self._build_group(0, self.tr("By day"), "usageByDayButton"),
            self._build_group(1, self.tr("By model"), "usageByModelButton"),
            self._build_group(2, self.tr("By tool"), "usageByToolButton"),
            self._build_group(3, self.tr("By folder"), "usageByFolderButton"),
        ]
        buttons[0].setChecked(True)
        self._groups.idClicked.connect(self._on_group)
        return buttons

    def _build_group(self, number: int, text: str, object_name: str) -> QPushButton:
        """Return the button of a grouping, by its number in `GROUPINGS`."""
        button = make_button(text, object_name=object_name, variant="flat")
        button.setCheckable(True)
        button.setShortcut(QKeySequence(f"Alt+{number + 1}"))
        button.setToolTip(button.shortcut().toString(QKeySequence.SequenceFormat.NativeText))
        self._groups.addButton(button, number)
        return button

    # -- what the user does --

    def _on_period(self) -> None:
        self._note.clear()
        self.period_chosen.emit(self.period)

    def _on_group(self) -> None:
        self._note.clear()
        if self._shown is not None and not self._shown.is_empty:
            self._pages.show_page(self.grouping)

    def _copy_csv(self) -> None:
        """Copy the rows of this grouping, exactly."""
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
