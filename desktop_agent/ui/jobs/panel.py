"""The background commands of the session, between the conversation and the composer while the user wants them."""

from collections.abc import Callable, Sequence
from datetime import datetime

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QHideEvent, QKeyEvent, QShowEvent
from PySide6.QtWidgets import QScrollArea, QWidget

from desktop_agent.core.protocol.model import Job
from desktop_agent.ui.jobs.row import ROW_HEIGHT, JobRow
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.widgets.buttons import make_button
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.layouts import STRETCH, hairline, hbox, scroll_down, vbox

TICK_MS = 1_000
_MAX_ROWS = 4
_MAX_WIDTH = 896
"""The composer is no wider, with the room at its sides."""


class JobsPanel(QWidget):
    """Lists jobs, those that run first, the newest first. Ages go on while it is visible, and only then.

    Signals:
        stop_requested: a job (id) shall end.
        output_requested: the user wants to read what a `Job` printed.
        closed: the user does not want to see it any more.
    """

    stop_requested = Signal(str)
    output_requested = Signal(object)
    closed = Signal()

    def __init__(self, theme: Theme, now: Callable[[], datetime]) -> None:
        super().__init__()
        self.setObjectName("jobsPanel")
        self.setAccessibleName(self.tr("Background commands"))
        self._theme = theme
        self._now = now
        self._jobs: tuple[Job, ...] = ()
        self._rows: dict[str, JobRow] = {}
        self._count = make_label(role="secondary", object_name="jobsCount")
        none = self.tr(
            "No background commands. Commands that keep running, such as a server, appear here once started."
        )
        self._empty = make_label(none, role="secondary", object_name="jobsEmpty", wraps=True)
        self._scroll = QScrollArea()
        self._list = vbox(margins=(0, 0, Space.XS, 0))
        self._tick = QTimer(self, interval=TICK_MS)
        self._tick.timeout.connect(self._show_ages)
        self._lay_out()
        self.show_jobs(())
        self.hide()

    @property
    def rows(self) -> list[JobRow]:
        """The rows as they stand, from the top."""
        return [self._rows[job.id] for job in _in_order(self._jobs)]

    @property
    def is_ticking(self) -> bool:
        """Whether ages are being counted."""
        return self._tick.isActive()

    def show_jobs(self, jobs: Sequence[Job]) -> None:
        """Show the jobs as they are now."""
        self._jobs = tuple(jobs)
        now = self._now()
        wanted = {job.id for job in self._jobs}
        for job_id in [job_id for job_id in self._rows if job_id not in wanted]:
            row = self._rows.pop(job_id)
            row.hide()
            row.deleteLater()
        for position, job in enumerate(_in_order(self._jobs)):
            row = self._rows.get(job.id)
            if row is None:
                row = self._rows[job.id] = JobRow(
                    self._theme, job, now, stop=self.stop_requested.emit, show_output=self.output_requested.emit
                )
            elif row.job != job:
                row.show_job(job, now)
            if self._list.indexOf(row) != position:
                self._list.removeWidget(row)
                self._list.insertWidget(position, row)
        self._show_count()
        self._update_ticking()

    def _show_count(self) -> None:
        running = sum(job.state == "running" for job in self._jobs)
        self._count.setText(self.tr("{0} running").format(running) if self._jobs else "")
        self._empty.setVisible(not self._jobs)
        self._scroll.setVisible(bool(self._jobs))
        self._scroll.setFixedHeight(min(len(self._jobs), _MAX_ROWS) * ROW_HEIGHT)

    def _show_ages(self) -> None:
        now = self._now()
        for row in self._rows.values():
            row.show_age(now)

    def _update_ticking(self) -> None:
        if self.isVisible() and any(job.state == "running" for job in self._jobs):
            if not self._tick.isActive():
                self._tick.start()
        else:
            self._tick.stop()

    # -- events --

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._show_ages()
        self._update_ticking()

    def hideEvent(self, event: QHideEvent) -> None:
        self._tick.stop()
        super().hideEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.closed.emit()
        else:
            super().keyPressEvent(event)

    # -- how it is built --

    def _lay_out(self) -> None:
        close = make_button(
            "✕",
            object_name="jobsCloseButton",
            clicked=self.closed,
            variant="flat",
            accessible_name=self.tr("Hide background commands"),
            is_compact=True,
        )
        close.setToolTip(self.tr("Hide. Running commands continue."))
        heading = make_label(self.tr("Background commands"), role="heading")
        head = hbox(heading, self._count, STRETCH, close, spacing=Space.S)
        content = QWidget()
        content.setLayout(self._list)
        self._list.setAlignment(Qt.AlignmentFlag.AlignTop)
        self._scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        scroll_down(self._scroll, content)
        margins = (Space.XL, Space.S, Space.L, Space.S)  # at the right in line with the composer, for all of the list
        inside = QWidget()
        inside.setMaximumWidth(_MAX_WIDTH)
        vbox(head, self._empty, self._scroll, on=inside, margins=margins, spacing=Space.XS)
        vbox(hairline(), hbox(STRETCH, (inside, 1), STRETCH), on=self)


def _in_order(jobs: Sequence[Job]) -> list[Job]:
    newest_first = list(reversed(jobs))
    return sorted(newest_first, key=lambda job: job.state != "running")
