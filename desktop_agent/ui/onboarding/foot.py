"""The foot of the welcome: the way back, the folder, and the way on."""

from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QPushButton, QWidget

from desktop_agent.ui.onboarding.step import Step
from desktop_agent.ui.theme import Space
from desktop_agent.ui.widgets.buttons import make_button
from desktop_agent.ui.widgets.labels import ElidedLabel
from desktop_agent.ui.widgets.layouts import STRETCH, hbox
from desktop_agent.ui.wording.short_path import short_path
from desktop_agent.ui.wording.tooltips import plain_tooltip

_FOLDER_WIDTH = 220


class OnboardingFoot(QWidget):
    """Shows the button of the step that is shown, and what else can be done there.

    Signals:
        back_requested: leave the step, or give up what is being done.
        folder_requested: let the user choose a folder.
    """

    back_requested = Signal()
    folder_requested = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setAutoFillBackground(True)
        self._back = make_button(self.tr("Back"), object_name="backButton", clicked=self.back_requested)
        self._folder = ElidedLabel(Qt.TextElideMode.ElideMiddle)
        self._folder.setObjectName("onboardingFolder")
        self._folder.setProperty("role", "secondary")
        self._choose = make_button(
            self.tr("Choose folder…"), object_name="chooseFolderButton", clicked=self.folder_requested
        )
        margins = (Space.XL, Space.M, Space.XL, Space.M)
        self._row = hbox(self._back, self._folder, STRETCH, self._choose, on=self, margins=margins, spacing=Space.S)
        self._primaries: list[QPushButton] = []
        self.set_folder(None)

    def add_buttons(self, step: Step) -> None:
        """Have the buttons of a step, which are shown with it."""
        for button in step.buttons:
            self._row.addWidget(button)
            button.hide()
            self._primaries.append(button)

    def show_step(self, step: Step, *, is_first: bool, is_busy: bool) -> None:
        """Show what can be done in a step, while something is being done for it or not."""
        self._back.setVisible(is_busy or not is_first)
        self._back.setText(self.tr("Cancel") if is_busy else self.tr("Back"))
        self._folder.setVisible(is_first)
        self._choose.setVisible(is_first)
        primary = step.primary
        for button in self._primaries:
            button.setVisible(button is primary and not is_busy)
        if primary is not None and not is_busy:
            primary.setDefault(True)

    def take_focus(self) -> None:
        """Put the keyboard on the way back."""
        self._back.setFocus(Qt.FocusReason.OtherFocusReason)

    def set_folder(self, folder: Path | None) -> None:
        """Show which folder the agent will work in."""
        if folder is None:
            self._folder.setText(self.tr("No folder chosen yet"))
            self._folder.setToolTip("")
            return
        text = self.tr("Folder: {0}").format(short_path(str(folder)))
        self._folder.setText(self._folder.fontMetrics().elidedText(text, Qt.TextElideMode.ElideMiddle, _FOLDER_WIDTH))
        self._folder.setToolTip(plain_tooltip(str(folder)))
