"""The foot of the settings dialog: what was just saved, the way back, the file, and the way out."""

from collections.abc import Callable

from PySide6.QtWidgets import QWidget

from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.settings import declared_settings
from desktop_agent.core.settings.live_settings import SettingChange
from desktop_agent.ui.settings.actions import SettingsActions
from desktop_agent.ui.settings.controls import title_of, words
from desktop_agent.ui.settings.parts import note, say
from desktop_agent.ui.settings.setting_row import shown
from desktop_agent.ui.theme import Space
from desktop_agent.ui.translation.core_words import core_words
from desktop_agent.ui.widgets.buttons import make_button
from desktop_agent.ui.widgets.layouts import hbox
from desktop_agent.ui.wording.tooltips import plain_tooltip


class SettingsFoot(QWidget):
    """Shows the last change and offers to undo it; opens the settings file, and closes the dialog."""

    def __init__(self, actions: SettingsActions, close: Callable[[], None]) -> None:
        super().__init__()
        self._actions = actions
        self._change: SettingChange | None = None
        self._undoing = ""
        self.setAutoFillBackground(True)
        self._note = note(self.tr("Changes apply and are saved at once."))
        self._note.setObjectName("settingsNote")
        self._undo = make_button(self.tr("Undo"), object_name="undoSettingButton", clicked=self._on_undo)
        file_button = make_button(
            self.tr("Open the settings file"), object_name="openSettingsFileButton", clicked=actions.open_file
        )
        close_button = make_button(self.tr("Close"), object_name="closeSettingsButton", clicked=close)
        margins = (Space.XL, Space.M, Space.XL, Space.M)
        hbox((self._note, 1), self._undo, file_button, close_button, on=self, spacing=Space.S, margins=margins)
        self._undo.hide()

    def show_change(self, change: SettingChange) -> None:
        """Say what was saved, with a way back unless it was one."""
        is_undo, self._undoing = self._undoing == change.key, ""
        setting = declared_settings()[change.key]
        if change.overridden_by is not None:
            text = self.tr("{0}: saved, but the environment variable {1} overrides the file.").format(
                title_of(setting), str(change.overridden_by)
            )
        else:
            before, after = shown(setting, change.before), shown(setting, change.after)
            text = f"{title_of(setting)}: {before} → {after}. {_from_when(setting.about.effect)}".strip()
        say(self._note, text)
        self._change = None if is_undo else change
        self._undo.setVisible(not is_undo)

    def show_note(self, text: str) -> None:
        """Say what was done that has no way back here."""
        say(self._note, text)
        self._note.setToolTip("")
        self._change = None
        self._undo.hide()

    def show_failure(self, error: AgentError) -> None:
        """Say that nothing was saved, and why."""
        say(self._note, f"{core_words(error.title)} {core_words(error.hint)}".strip(), "error")
        self._note.setToolTip(plain_tooltip(error.detail))
        self._undo.hide()

    def _on_undo(self) -> None:
        if (change := self._change) is None:
            return
        self._undoing = change.key
        if change.was_set:
            self._actions.change(change.key, change.before)
        else:
            self._actions.reset(change.key)


def _from_when(effect: str) -> str:
    match effect:
        case "next session":
            return words("Applies to new sessions.")
        case "next run":
            return words("Applies from the next run.")
        case "next start":
            return words("Applies when the window is opened the next time.")
        case _:
            return ""
