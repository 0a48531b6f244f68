"""The first dialog: try the demo, or enter a key."""

from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QDialog, QWidget

from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.widgets.buttons import make_button
from desktop_agent.ui.widgets.choice_card import ChoiceCard
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.layouts import STRETCH, hairline, hbox, vbox
from desktop_agent.ui.wording.short_path import short_path
from desktop_agent.ui.wording.tooltips import plain_tooltip

_WIDTH = 520
_FOLDER_WIDTH = 220


class OnboardingDialog(QDialog):
    """Offers what works without any set-up, and what needs a key. Show it with `open()`.

    Signals:
        demo_requested: start the demo. The dialog is closed.
        key_requested: let the user enter a key. The dialog is closed.
        folder_requested: let the user choose a folder, and tell it by `set_folder`. The dialog stays.
    """

    demo_requested = Signal()
    key_requested = Signal()
    folder_requested = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("onboardingDialog")
        self.setWindowTitle(self.tr("Welcome"))
        self.setAccessibleName(self.tr("Welcome"))
        self.setModal(True)
        self._demo = ChoiceCard(
            theme,
            self.tr("Try the demo"),
            self.tr(
                "No key, no network. A scripted model works on a small project with real tools, so you can see how "
                "review and undo feel."
            ),
        )
        self._key = ChoiceCard(
            theme,
            self.tr("Enter an API key"),
            self.tr("For Anthropic, OpenAI, OpenRouter or xAI. Kept in your system keyring, and nowhere else."),
        )
        start, enter = self.tr("Start the demo"), self.tr("Enter a key…")
        self._start_demo = make_button(start, object_name="demoButton", clicked=self._on_demo, variant="primary")
        self._enter_key = make_button(enter, object_name="enterKeyButton", clicked=self._on_key, variant="primary")
        self._folder = make_label(role="secondary", object_name="onboardingFolder", is_plain=True)
        self._lay_out()
        self._demo.toggled.connect(self._update_primary)
        self._demo.confirmed.connect(self._on_demo)
        self._key.confirmed.connect(self._on_key)
        self.set_folder(None)
        self._demo.setChecked(True)
        self._update_primary()
        self.setFixedWidth(_WIDTH)
        self._demo.setFocus()

    def set_folder(self, folder: Path | None) -> None:
        """Show which folder the agent will work in."""
        if folder is None:
            self._folder.setText(self.tr("No folder chosen yet"))
            self._folder.setToolTip("")
            return
        text = self.tr("Folder: {0}").format(short_path(str(folder)))
        self._folder.setText(self._folder.fontMetrics().elidedText(text, Qt.TextElideMode.ElideMiddle, _FOLDER_WIDTH))
        self._folder.setToolTip(plain_tooltip(str(folder)))

    # --- building -------------------------------------------------------------------------------------------------

    def _lay_out(self) -> None:
        body = vbox(
            make_label(self.tr("Welcome. Choose a model"), role="title"),
            make_label(self.tr("You can change this at any time in Settings."), role="secondary"),
            Space.M,
            self._demo,
            Space.XS + 2,
            self._key,
            margins=(Space.XL, Space.XL, Space.XL, Space.XL),
            spacing=Space.XS,
        )
        vbox(body, STRETCH, hairline(), self._foot(), on=self)

    def _foot(self) -> QWidget:
        choose = make_button(self.tr("Choose folder…"), object_name="chooseFolderButton", clicked=self.folder_requested)
        foot = QWidget()
        foot.setAutoFillBackground(True)
        margins = (Space.XL, Space.M, Space.XL, Space.M)
        hbox((self._folder, 1), choose, self._start_demo, self._enter_key, on=foot, margins=margins, spacing=Space.S)
        return foot

    # --- choosing -------------------------------------------------------------------------------------------------

    def _update_primary(self) -> None:
        is_demo = self._demo.isChecked()
        self._start_demo.setVisible(is_demo)
        self._enter_key.setVisible(not is_demo)
        primary = self._start_demo if is_demo else self._enter_key
        primary.setDefault(True)

    def _on_demo(self) -> None:
        self.accept()
        self.demo_requested.emit()

    def _on_key(self) -> None:
        self.accept()
        self.key_requested.emit()
