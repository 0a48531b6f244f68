"""What works in the background of the session, commands and sub-agents, shown above the composer."""

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Literal

from PySide6.QtCore import QCoreApplication, QLocale, QPointF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QHideEvent, QKeyEvent, QPainter, QPaintEvent, QPen, QShowEvent
from PySide6.QtWidgets import QScrollArea, QWidget

from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.protocol.model import Job
from desktop_agent.ui.runtime.pacing import run_while
from desktop_agent.ui.theme import Space, Theme, TypeSize
from desktop_agent.ui.translation import plural
from desktop_agent.ui.widgets.buttons import compact_button
from desktop_agent.ui.widgets.labels import ElidedLabel, make_label
from desktop_agent.ui.widgets.layouts import STRETCH, discard, hairline, hbox, scroll_down, set_names, vbox
from desktop_agent.ui.wording import one_line, plain_tooltip, visible

_tr = partial(QCoreApplication.translate, "Jobs")

_MINUTE, _HOUR, _DAY = 60, 3600, 86_400


def age(seconds: float) -> str:
    whole = max(0, int(seconds))
    if whole < _MINUTE:
        return _tr("{0} s").format(whole)
    if whole < _HOUR:
        return _tr("{0} min").format(whole // _MINUTE)
    if whole < _DAY:
        return _tr("{0} h {1} min").format(whole // _HOUR, whole % _HOUR // _MINUTE)
    return _tr("{0} d {1} h").format(whole // _DAY, whole % _DAY // _HOUR)


def state(job: Job) -> str:
    code = _tr("ended") if job.exit_code is None else _tr("exit code {0}").format(job.exit_code)
    timed_out = _tr("stopped at its time limit")
    words = {"running": _tr("running"), "exited": code, "stopped": _tr("stopped"), "timed_out": timed_out}
    return words[job.state]


def figures(job: Job, now: datetime) -> str:
    ran = age(((job.ended_at or now) - job.started_at).total_seconds())
    if job.state != "running":
        return " · ".join((state(job), _tr("ran {0}").format(ran)))
    if not job.memory_bytes:
        return ran
    size = QLocale().formattedDataSize(job.memory_bytes, 0, QLocale.DataSizeFormat.DataSizeSIFormat)
    return f"{ran} · {size}"


def count(running: int) -> str:
    return plural("Jobs", running, "%n job", "%n jobs") if running else _tr("Jobs")


class SubagentJob(Job, frozen=True, kw_only=True):
    """A sub-agent, listed like a command. Its id is that of its call."""

    session_id: SessionId | None
    """Known once it has begun."""


ROW_HEIGHT = 46

_MARK_SIZE = 14
_ARM = 3.5


class JobRow(QWidget):
    def __init__(
        self, theme: Theme, job: Job, now: datetime, *, stop: Callable[[str], None], show_output: Callable[[Job], None]
    ) -> None:
        super().__init__()
        self.setObjectName("jobRow")
        self.setFixedHeight(ROW_HEIGHT)
        self.job = job
        self._stop_job = stop
        self._show_output = show_output
        self._mark = _Mark(theme)
        self._command = ElidedLabel(Qt.TextElideMode.ElideMiddle, takes_room=True)
        self._command.setFont(theme.code_font(TypeSize.CODE))
        self._last = ElidedLabel(object_name="jobLastLine", takes_room=True)
        self._last.setFont(theme.code_font(TypeSize.HEAD))
        self._last.setForegroundRole(self._last.palette().ColorRole.PlaceholderText)
        self._figures = make_label(role="secondary", object_name="jobFigures", is_plain=True)
        self._is_subagent = isinstance(job, SubagentJob)
        shows = self.tr("Show its conversation") if self._is_subagent else self.tr("Show output")
        self._output = compact_button(shows, "jobOutputButton", clicked=self._on_output, variant="flat")
        self._stop = compact_button(self.tr("Stop"), "jobStopButton", clicked=self._on_stop, variant="destructive")
        policy = self._stop.sizePolicy()
        policy.setRetainSizeWhenHidden(True)  # keeps the widgets beside it aligned with other rows
        self._stop.setSizePolicy(policy)
        words = vbox(STRETCH, self._command, self._last, STRETCH)
        hbox(self._mark, (words, 1), self._figures, self._output, self._stop, on=self, spacing=Space.S)
        self.show_job(job, now)

    def show_job(self, job: Job, now: datetime) -> None:
        self.job = job
        command = one_line(job.command)
        self._mark.show_job(job)
        self._command.setText(command)
        self._command.setToolTip(plain_tooltip(visible(job.command)))
        self._last.setText(one_line(job.last_line.strip()) or self.tr("No output"))
        self._last.setToolTip(plain_tooltip(visible(job.last_line)))
        if job.state != "running":
            self._stop.setText(self.tr("Stop"))  # its width is fixed, so it must match the other rows
        self._stop.setVisible(job.state == "running")
        self._stop.setAccessibleName(self.tr("Stop {0}").format(command))
        ends = self.tr("Ends this and everything it started:\n{0}").format(visible(job.command))
        self._stop.setToolTip(plain_tooltip(ends))
        shows = self.tr("Show the conversation of {0}") if self._is_subagent else self.tr("Show the output of {0}")
        self._output.setAccessibleName(shows.format(command))
        self._output.setEnabled(not isinstance(job, SubagentJob) or job.session_id is not None)
        self.show_age(now)
        self.setAccessibleName(", ".join((command, state(job), self._figures.text())))

    def show_age(self, now: datetime) -> None:
        text = figures(self.job, now)
        if text != self._figures.text():
            self._figures.setText(text)

    def _on_stop(self) -> None:
        self._stop.setText(self.tr("Stopping…"))
        self._stop_job(self.job.id)

    def _on_output(self) -> None:
        self._show_output(self.job)


class _Mark(QWidget):
    """The mark of a job: full while it runs, hollow after success or stop, a cross after failure."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._role = "accent"
        self._shape: Literal["full", "hollow", "cross"] = "full"
        self.setFixedSize(QSize(_MARK_SIZE, _MARK_SIZE))
        theme.changed.connect(self.update)

    def show_job(self, job: Job) -> None:
        is_running, is_failed = job.state == "running", job.state == "exited" and job.exit_code != 0
        self._role = "accent" if is_running else "danger_text" if is_failed else "muted"
        self._shape = "full" if is_running else "cross" if is_failed else "hollow"
        self.setToolTip(state(job))
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            colour = self._theme.colour(self._role)
            painter.setPen(QPen(colour, 1.4))
            centre = QPointF(_MARK_SIZE / 2, _MARK_SIZE / 2)
            if self._shape == "cross":
                painter.drawLine(centre - QPointF(_ARM, _ARM), centre + QPointF(_ARM, _ARM))
                painter.drawLine(centre + QPointF(-_ARM, _ARM), centre + QPointF(_ARM, -_ARM))
            else:
                painter.setBrush(colour if self._shape == "full" else Qt.BrushStyle.NoBrush)
                painter.drawEllipse(centre, 4, 4)


_MAX_ROWS = 4
_MAX_WIDTH = 896


class JobsPanel(QWidget):
    stop_requested = Signal(str)  # a job's id
    output_requested = Signal(object)  # a Job
    closed = Signal()

    def __init__(self, theme: Theme, now: Callable[[], datetime]) -> None:
        super().__init__()
        set_names(self, "jobsPanel", self.tr("Background work"))
        self._theme = theme
        self._now = now
        self._jobs: tuple[Job, ...] = ()
        self._rows: dict[str, JobRow] = {}
        self._count = make_label(role="secondary", object_name="jobsCount")
        none = self.tr(
            "Nothing runs in the background. Commands that keep running, such as a server, and sub-agents in the "
            "background appear here once started."
        )
        self._empty = make_label(none, role="secondary", object_name="jobsEmpty", wraps=True)
        self._scroll = QScrollArea()
        self._list = vbox(margins=(0, 0, Space.XS, 0))
        self._tick = QTimer(self, interval=1_000)
        self._tick.timeout.connect(self._show_ages)
        close = compact_button(
            "✕",
            "jobsCloseButton",
            accessible_name=self.tr("Hide background work"),
            clicked=self.closed,
            variant="flat",
            tooltip=self.tr("Hide. Background work continues."),
        )
        heading = make_label(self.tr("Background work"), role="heading")
        head = hbox(heading, self._count, STRETCH, close, spacing=Space.S)
        content = QWidget()
        content.setLayout(self._list)
        self._list.setAlignment(Qt.AlignmentFlag.AlignTop)
        self._scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        scroll_down(self._scroll, content)
        margins = (Space.XL, Space.S, Space.L, Space.S)  # the right edge of the list is aligned with the composer
        inside = QWidget()
        inside.setMaximumWidth(_MAX_WIDTH)
        vbox(head, self._empty, self._scroll, on=inside, margins=margins, spacing=Space.XS)
        vbox(hairline(), hbox(STRETCH, (inside, 1), STRETCH), on=self)
        self.show_jobs(())
        self.hide()

    @property
    def rows(self) -> list[JobRow]:
        return [self._rows[job.id] for job in _in_order(self._jobs)]

    @property
    def is_ticking(self) -> bool:
        return self._tick.isActive()

    def show_jobs(self, jobs: Sequence[Job]) -> None:
        self._jobs = tuple(jobs)
        now = self._now()
        wanted = {job.id for job in self._jobs}
        for job_id in [job_id for job_id in self._rows if job_id not in wanted]:
            discard(self._rows.pop(job_id))
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
        running = sum(job.state == "running" for job in self._jobs)
        self._count.setText(self.tr("{0} running").format(running) if self._jobs else "")
        self._empty.setVisible(not self._jobs)
        self._scroll.setVisible(bool(self._jobs))
        self._scroll.setFixedHeight(min(len(self._jobs), _MAX_ROWS) * ROW_HEIGHT)
        self._update_ticking()

    def _show_ages(self) -> None:
        now = self._now()
        for row in self._rows.values():
            row.show_age(now)

    def _update_ticking(self) -> None:
        run_while(self._tick, is_wanted=self.isVisible() and any(job.state == "running" for job in self._jobs))

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


def _in_order(jobs: Sequence[Job]) -> list[Job]:
    newest_first = reversed(jobs)
    return sorted(newest_first, key=lambda job: job.state != "running")
