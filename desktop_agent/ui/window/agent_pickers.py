"""The pickers for the options of another program's agent, made when one first tells which it has."""

from collections.abc import Sequence
from typing import Final

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QWidget

from desktop_agent.core.protocol.events import AgentReported
from desktop_agent.core.protocol.model import AgentOption
from desktop_agent.ui.chat.composer.composer import ControlRow
from desktop_agent.ui.translation.core_words import core_words
from desktop_agent.ui.window.mode_pickers import MAX_LABEL, ModeButton
from desktop_agent.ui.wording.visible_text import one_line, plain_tooltip

_FIRST: Final = ("model", "thought_level", "mode")
"""The categories of the options that most need a button of their own."""


class OptionsButton(ModeButton):
    """A button for one option, or with `options` for several that have no button of their own."""

    chosen = Signal(str, object)  # the option's id, and the value

    def __init__(self, parent: QWidget, name: str, label: str) -> None:
        super().__init__(parent, name, label)
        menu = QMenu(self)
        menu.setToolTipsVisible(True)
        menu.triggered.connect(self._on_triggered)
        self.setMenu(menu)

    def show_option(self, option: AgentOption) -> None:
        self.label = _words(option.name)
        self.menu().clear()
        self._offer(self.menu(), option)
        chosen = next((one.name for one in option.choices if one.value == option.value), str(option.value))
        label = _words(chosen)[:MAX_LABEL].rstrip()
        self.set_texts(f"{label} ▾", f"{label} ▾")
        self.setToolTip(plain_tooltip("\n".join(filter(None, (one_line(option.name), one_line(option.description))))))
        self.show()

    def show_options(self, options: Sequence[AgentOption]) -> None:
        self.menu().clear()
        for option in options:
            if option.choices:
                self._offer(self.menu().addMenu(_words(option.name)), option)
            else:
                action = self.menu().addAction(_words(option.name))
                _mark(action, option.description, is_checked=option.value is True)
                action.setData((option.id, option.value is not True))
        self.setVisible(bool(options))

    def _offer(self, menu: QMenu, option: AgentOption) -> None:
        for choice in option.choices:
            action = menu.addAction(_words(choice.name))
            _mark(action, choice.description, is_checked=choice.value == option.value)
            action.setData((option.id, choice.value))

    def _on_triggered(self, action: QAction) -> None:
        option_id, value = action.data()
        self.chosen.emit(option_id, value)


class AgentPickers(QObject):
    chosen = Signal(str, object)  # an option's id, and its value

    def __init__(self, controls: ControlRow, composer: QWidget, behind: QWidget) -> None:
        super().__init__(composer)
        self._controls = controls
        label = self.tr("Option")
        self._own = (
            OptionsButton(composer, "agentOption1", label),
            OptionsButton(composer, "agentOption2", label),
            OptionsButton(composer, "agentOption3", label),
        )
        self._rest = OptionsButton(composer, "agentOptions", self.tr("Options"))
        for button in (self._rest, *reversed(self._own)):
            controls.add(button, behind=behind)
            button.chosen.connect(self.chosen)
        self.show_agent(None)

    def show_agent(self, agent: AgentReported | None) -> None:
        options = list(agent.options) if agent is not None else []
        own = sorted((option for option in options if option.choices), key=_place)[: len(self._own)]
        for button in self._own:
            button.hide()
        for button, option in zip(self._own, own, strict=False):
            button.show_option(option)
        self._rest.show_options([option for option in options if option not in own])
        self._controls.changed.emit()


def _place(option: AgentOption) -> int:
    return _FIRST.index(option.category) if option.category in _FIRST else len(_FIRST)


def _words(text: str) -> str:
    """Return an agent's words for a button or a menu, where `&` would mark a key and a tab begin another column."""
    return one_line(core_words(text)).replace("&", "&&").replace("\t", " ")


def _mark(action: QAction, description: str, *, is_checked: bool) -> None:
    action.setCheckable(True)
    action.setChecked(is_checked)
    action.setToolTip(plain_tooltip(description))
