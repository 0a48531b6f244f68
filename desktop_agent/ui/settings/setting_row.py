"""One setting in the dialog: its name, what it does, its control, where its value comes from, and the way back."""

from typing import cast

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QWidget

from desktop_agent.core.settings import Setting
from desktop_agent.ui.settings.actions import SettingsActions
from desktop_agent.ui.settings.controls import TextsControl, control_for, words
from desktop_agent.ui.settings.parts import note
from desktop_agent.ui.settings.state import SettingsView
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.widgets.buttons import make_button
from desktop_agent.ui.widgets.layouts import STRETCH, hbox, vbox


class SettingRow(QWidget):
    """Shows one setting."""

    def __init__(self, setting: Setting, theme: Theme, actions: SettingsActions, *, section: str = "") -> None:
        """`section` is named before the title, where rows of several sections stand together."""
        super().__init__()
        self.setting = setting
        self._actions = actions
        self.setObjectName(f"setting_{setting.key}")
        about = setting.about
        self._title = QLabel(f"{section} · {words(about.title)}" if section else words(about.title))
        self._title.setToolTip(setting.key)
        self._text = note(words(about.text))
        self.control = control_for(setting, theme)
        self._problem = note("", "error")
        self._origin = note("", "warning")
        self._state = note("")
        self._state.setWordWrap(False)
        self._reset = make_button(self.tr("Reset"), clicked=self._on_reset, variant="flat", is_compact=True)
        self._reset.setAccessibleName(self.tr("Reset {0}").format(words(about.title)))
        self._lay_out()
        self.control.changed.connect(self._on_changed)

    def show_view(self, view: SettingsView) -> None:
        """Show what is in force, and what is to be said about it."""
        key = self.setting.key
        value = view.values[key]
        self.control.show_value(value)
        is_changed = value != self.setting.default
        variable = view.variable_of(key)
        self.control.setEnabled(not variable)
        self._state.setText(self.tr("Changed. Default: {0}").format(shown(self.setting, self.setting.default)))
        self._state.setVisible(is_changed and not variable)
        self._reset.setVisible(is_changed and not variable)
        self._say(self._problem, view.problem_of(key))
        self._say(self._origin, self._origin_words(view))

    def _origin_words(self, view: SettingsView) -> str:
        key = self.setting.key
        if variable := view.variable_of(key):
            return self.tr("Set by the environment variable {0}, which overrides the file.").format(variable)
        if key in view.project:
            return self.tr("The project sets this to “{0}”, which applies here.").format(
                shown(self.setting, view.project[key])
            )
        return ""

    def _say(self, label: QLabel, text: str) -> None:
        label.setText(text)
        label.setVisible(bool(text))

    def _lay_out(self) -> None:
        is_wide = isinstance(self.control, TextsControl)
        top = hbox((vbox(self._title, self._text, spacing=2), 1), spacing=Space.L)
        if not is_wide:
            top.addWidget(self.control, 0, Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignRight)
        state = hbox(self._state, self._reset, STRETCH, spacing=Space.XS)
        vbox(
            *([top, self.control] if is_wide else [top]),
            self._problem,
            self._origin,
            state,
            on=self,
            spacing=Space.XS,
            margins=(0, Space.XS, 0, Space.XS),
        )
        for label in (self._problem, self._origin, self._state):
            label.hide()
        self._reset.hide()

    def _on_changed(self, value: object) -> None:
        self._actions.change(self.setting.key, value)

    def _on_reset(self) -> None:
        self._actions.reset(self.setting.key)


def shown(setting: Setting, value: object) -> str:
    """Return a value as people read it."""
    about = setting.about
    if value is None or value in ("", ()):
        return words(about.unset or "nothing")
    if setting.kind == "choice":
        return words(about.words.get(str(value), str(value)))
    if setting.kind == "switch":
        return words("on") if value else words("off")
    if isinstance(value, tuple):
        return ", ".join(map(str, cast("tuple[object, ...]", value)))
    if isinstance(value, int | float):
        return f"{value / about.per_unit:,g} {words(about.unit)}".strip()
    return str(value)
