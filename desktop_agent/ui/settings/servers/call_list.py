"""The last calls of one server: when, which tool, what came of it, how long it took."""

from collections.abc import Iterator

from PySide6.QtCore import QLocale, Qt
from PySide6.QtWidgets import QGridLayout, QLabel, QSizePolicy, QWidget

from desktop_agent.core.base.plain_text import duration_text
from desktop_agent.core.mcp.server_status import LastCall
from desktop_agent.ui.runtime.gradual import GradualWork
from desktop_agent.ui.settings.servers.words import cut
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.widgets.labels import ElidedLabel, make_label
from desktop_agent.ui.wording.moments import long_moment
from desktop_agent.ui.wording.tooltips import plain_tooltip

_MOST = 10
_LONGEST = 400


class CallList(QWidget):
    """The newest of them, the last one first."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._calls: tuple[LastCall, ...] = ()
        self._shown: tuple[LastCall, ...] = ()
        self._rows: list[tuple[QLabel, QLabel, QLabel, QLabel]] = []
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, Space.S, 0, 0)
        self._grid.setHorizontalSpacing(Space.L)
        self._grid.setVerticalSpacing(2)
        self._grid.setColumnStretch(2, 1)
        self._work = GradualWork(self)
        self.hide()

    @property
    def is_unfolded(self) -> bool:
        """Whether they are shown."""
        return not self.isHidden()

    def unfold(self, *, is_unfolded: bool) -> None:
        """Show them, or hide them."""
        self.setVisible(is_unfolded)
        if is_unfolded:
            self._work.begin(self._show_rows())
        else:
            self._work.stop()

    def show_calls(self, calls: tuple[LastCall, ...]) -> None:
        """Show these, of which the newest is the last, if it is unfolded."""
        self._calls = calls
        if self.is_unfolded and calls != self._shown:
            self._work.begin(self._show_rows())

    def _show_rows(self) -> Iterator[None]:
        """Bring the rows up to date, one in each step."""
        newest = self._calls[: -_MOST - 1 : -1]
        for number, call in enumerate(newest):
            if number == len(self._rows):
                self._rows.append(self._make_row(number))
            self._show(self._rows[number], call)
            yield
        for row in self._rows[len(newest) :]:
            for label in row:
                label.hide()
        self._shown = self._calls

    def _make_row(self, number: int) -> tuple[QLabel, QLabel, QLabel, QLabel]:
        when = make_label("", role="secondary")
        tool = make_label("", is_plain=True)
        tool.setFont(self._theme.code_font())
        result = ElidedLabel()
        result.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        took = make_label("", role="secondary")
        took.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        row = (when, tool, result, took)
        for column, label in enumerate(row):
            self._grid.addWidget(label, number, column)
        return row

    def _show(self, row: tuple[QLabel, QLabel, QLabel, QLabel], call: LastCall) -> None:
        when, tool, result, took = row
        when.setText(long_moment(call.at, call.at.astimezone(), QLocale()))
        tool.setText(cut(call.tool))
        words = cut(call.problem, _LONGEST) or self.tr("Answered")
        role = "error" if call.problem else "secondary"
        result.setText(words)
        result.setToolTip(plain_tooltip(words) if call.problem else "")
        if result.property("role") != role:
            result.setProperty("role", role)
            result.style().unpolish(result)
            result.style().polish(result)
        took.setText(duration_text(call.duration_s))
        for label in row:
            label.show()
