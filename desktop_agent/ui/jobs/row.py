"""One background command: how it is doing, what it said last, and the way to end it."""

from collections.abc import Callable
from datetime import datetime
from typing import Literal

from PySide6.QtCore import QPointF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from desktop_agent.core.protocol.model import Job
from desktop_agent.ui.jobs import job_words
from desktop_agent.ui.theme import Space, Theme, TypeSize
from desktop_agent.ui.widgets.buttons import make_button
from desktop_agent.ui.widgets.labels import ElidedLabel, make_label
from desktop_agent.ui.widgets.layouts import STRETCH, hbox, vbox
from desktop_agent.ui.wording.model_words import one_line, visible
from desktop_agent.ui.wording.tooltips import plain_tooltip

ROW_HEIGHT = 46

_MARK_SIZE = 14
_ARM = 3.5
"""How far the ends of a cross are from its middle."""


class JobRow(QWidget):
    """Shows one job; `show_job` again when it changed, `show_age` as time goes by."""

    def __init__(
        self, theme: Theme, job: Job, now: datetime, *, stop: Callable[[str], None], show_output: Callable[[Job], None]
    ) -> None:
        """`stop` ends the job with an id, `show_output` lets the user read what a job printed."""
        super().__init__()
        self.setObjectName("jobRow")
        self.setFixedHeight(ROW_HEIGHT)
        self.job = job
        """As it was shown last."""
        self._stop_job = stop
        self._show_output = show_output
        self._mark = _Mark(theme)
        self._command = ElidedLabel(Qt.TextElideMode.ElideMiddle)
        self._last = ElidedLabel()
        for line, size in ((self._command, TypeSize.CODE), (self._last, TypeSize.HEAD)):
            line.setFont(theme.code_font(size))
            line.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._last.setObjectName("jobLastLine")
        self._last.setForegroundRole(self._last.palette().ColorRole.PlaceholderText)
        self._figures = make_label(role="secondary", object_name="jobFigures", is_plain=True)
        self._output = make_button(
            self.tr("Show output"),
            object_name="jobOutputButton",
            clicked=self._on_output,
            variant="flat",
            is_compact=True,
        )
        self._stop = make_button(
            self.tr("Stop"), object_name="jobStopButton", clicked=self._on_stop, variant="destructive", is_compact=True
        )
        policy = self._stop.sizePolicy()
        policy.setRetainSizeWhenHidden(True)  # so that what stands beside it stays in line with the other rows
        self._stop.setSizePolicy(policy)
        words = vbox(STRETCH, self._command, self._last, STRETCH)
        hbox(self._mark, (words, 1), self._figures, self._output, self._stop, on=self, spacing=Space.S)
        self.show_job(job, now)

    def show_job(self, job: Job, now: datetime) -> None:
        """Show how the job is now."""
        self.job = job
        command = one_line(job.command)
        self._mark.show_job(job)
        self._command.setText(command)
        self._command.setToolTip(plain_tooltip(visible(job.command)))
        self._last.setText(one_line(job.last_line.strip()) or self.tr("No output"))
        self._last.setToolTip(plain_tooltip(visible(job.last_line)))
        if job.state != "running":
            self._stop.setText(self.tr("Stop"))  # its width stays, so it must be that of the other rows
        self._stop.setVisible(job.state == "running")
        self._stop.setAccessibleName(self.tr("Stop {0}").format(command))
        self._stop.setToolTip(
            plain_tooltip(self.tr("Ends this and everything it started:\n{0}").format(visible(job.command)))
        )
        self._output.setAccessibleName(self.tr("Show the output of {0}").format(command))
        self.show_age(now)
        self.setAccessibleName(", ".join((command, job_words.state(job), self._figures.text())))

    def show_age(self, now: datetime) -> None:
        """Say how long it has been running by now."""
        text = job_words.figures(self.job, now)
        if text != self._figures.text():
            self._figures.setText(text)

    def _on_stop(self) -> None:
        self._stop.setText(self.tr("Stopping…"))
        self._stop_job(self.job.id)

    def _on_output(self) -> None:
        self._show_output(self.job)


class _Mark(QWidget):
    """Full: runs. Hollow: ended well or was stopped. A cross: failed. Its tool tip says it."""

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
        self.setToolTip(job_words.state(job))
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
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
        painter.end()
