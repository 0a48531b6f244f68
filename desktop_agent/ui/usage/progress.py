"""What stands in the place of the figures while sessions are read, or where there is nothing."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QProgressBar, QWidget

from desktop_agent.ui.theme import Space
from desktop_agent.ui.widgets.buttons import make_button
from desktop_agent.ui.widgets.context_meter import counted
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.layouts import STRETCH, vbox

_BAR_WIDTH = 280
_TEXT_WIDTH = 460


class UsageProgress(QWidget):
    """Says how far reading has come, why there is nothing to see, or what went wrong.

    Signals:
        cancelled: the user wants no more to be read.
    """

    cancelled = Signal()

    def __init__(self) -> None:
        super().__init__()
        centre = Qt.AlignmentFlag.AlignHCenter
        self._text = make_label(role="secondary", object_name="usageState", wraps=True, is_plain=True)
        self._text.setAlignment(centre)
        self._text.setFixedWidth(_TEXT_WIDTH)
        self._bar = QProgressBar()
        self._bar.setObjectName("usageProgress")
        self._bar.setAccessibleName(self.tr("Sessions that are read"))
        self._bar.setTextVisible(False)
        self._bar.setFixedSize(_BAR_WIDTH, Space.XS)
        self._cancel = make_button(self.tr("Stop reading"), object_name="usageStopButton", clicked=self.cancelled)
        parts = ((self._text, centre), (self._bar, centre), (self._cancel, centre))
        vbox(STRETCH, *parts, STRETCH, on=self, spacing=Space.M)

    def show_reading(self, done: int, total: int) -> None:
        """Say that `done` of `total` sessions are read; a total of 0 is not known yet."""
        if total:
            self._text.setText(self.tr("Reading sessions: {0} of {1}").format(counted(done), counted(total)))
        else:
            self._text.setText(self.tr("Reading sessions…"))
        self._bar.setRange(0, total)
        self._bar.setValue(done)
        self._bar.show()
        self._cancel.show()

    def show_words(self, text: str) -> None:
        """Say this, and that nothing is being read."""
        self._text.setText(text)
        self._bar.hide()
        self._cancel.hide()
