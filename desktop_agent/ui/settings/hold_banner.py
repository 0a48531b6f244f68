"""A banner above the conversation: nothing runs, because settings that safety depends on cannot be read."""

from collections.abc import Sequence

from PySide6.QtCore import Signal

from desktop_agent.ui.widgets.banner_frame import BannerFrame, few_lines
from desktop_agent.ui.wording.tooltips import plain_tooltip


class HoldBanner(BannerFrame):
    """Names each mistake with its file and line, and takes the user's decision. It cannot be dismissed.

    Signals:
        file_requested: open the file that is named first.
        go_on_requested: let what can be read hold, and defaults for the rest.
    """

    file_requested = Signal()
    go_on_requested = Signal()

    def __init__(self) -> None:
        super().__init__("settingsHoldBanner")
        self.add_button(self.tr("Open the file"), "openFaultyFileButton").clicked.connect(self.file_requested)
        go_on = self.add_button(self.tr("Use defaults anyway"), "useDefaultsButton", is_flat=True)
        go_on.setToolTip(self.tr("Valid settings apply. Defaults replace the others until you fix the file."))
        go_on.clicked.connect(self.go_on_requested)

    def show_faults(self, faults: Sequence[object]) -> None:
        """Say what cannot be read."""
        lines = [str(fault) for fault in faults]
        shown = [*few_lines(lines), self.tr("Work continues when you fix the file.")]
        self.say(self.tr("Nothing runs: settings that your safety depends on cannot be read."), "\n".join(shown))
        self.setToolTip(plain_tooltip("\n".join(lines)))
        self.show()
