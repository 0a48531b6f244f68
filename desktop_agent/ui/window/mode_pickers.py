"""The pickers below the composer: model, effort, approvals, sandbox, and the options of another program's agent."""

import re
from collections.abc import Sequence
from typing import Final

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QAction, QActionGroup
from PySide6.QtWidgets import QMenu, QWidget

from desktop_agent.core.base.regex import regex
from desktop_agent.core.models.vendors import DEMO, PROVIDER_LABELS
from desktop_agent.core.protocol.events import AgentReported
from desktop_agent.core.protocol.model import AgentOption, ApprovalPolicy, ModelRef, SandboxMode
from desktop_agent.ui.chat.composer.composer import ControlRow
from desktop_agent.ui.translation import core_words
from desktop_agent.ui.widgets.buttons import PickerButton
from desktop_agent.ui.widgets.labels import restyle
from desktop_agent.ui.wording import (
    MODES,
    PLANNING,
    POLICIES,
    approval_words,
    one_line,
    plain_tooltip,
    planning_words,
    sandbox_words,
    short_words,
)

MAX_LABEL = 28
_SHORTENED = regex(r"^claude[- ]|^[^:/]{1,20}: ", re.IGNORECASE)
"""The prefixes that are left out of a model's name where space is short. In a router's label, that is the vendor."""


class MenuPicker(PickerButton):
    """Its menu offers values with explanations, of which one is checked."""

    chosen = Signal(str)

    def __init__(self, parent: QWidget, name: str, label: str) -> None:
        super().__init__(parent, name, label)
        menu = QMenu(self)
        menu.setToolTipsVisible(True)
        self.setMenu(menu)
        self._group = QActionGroup(self)
        self._group.triggered.connect(self._on_triggered)

    def offer(self, words: tuple[str, str], value: str) -> None:
        label, explanation = words
        action = self.menu().addAction(f"{label}\t{explanation}" if explanation else label)
        action.setIconText(label)  # the text of the button
        action.setToolTip(explanation)
        action.setCheckable(True)
        action.setData(value)
        self._group.addAction(action)

    def action(self, value: str) -> QAction | None:
        return next((one for one in self._group.actions() if one.data() == value), None)

    def check(self, value: str) -> QAction | None:
        if (action := self.action(value)) is not None:
            action.setChecked(True)
        return action

    def show_value(self, value: str) -> None:
        self.show()
        if (action := self.check(value)) is not None:
            self.set_texts(f"{action.iconText()} ▾", f"{short_words(value)} ▾")
            self.setToolTip(action.toolTip())

    def _on_triggered(self, action: QAction) -> None:
        self.chosen.emit(action.data())


class ModePickers(QObject):
    """Three buttons open menus; the model is chosen elsewhere."""

    model_shown = Signal(object)  # a `ModelRef`
    effort_chosen = Signal(str)  # a level; empty for the model's default
    mode_chosen = Signal(object, bool)  # an `ApprovalPolicy`, or None to keep it; whether to plan
    sandbox_chosen = Signal(str)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.model_button = PickerButton(parent, "modelPicker", self.tr("Model"))
        self.effort_button = MenuPicker(parent, "effortPicker", self.tr("Effort"))
        self.approval_button = MenuPicker(parent, "approvalPicker", self.tr("Approvals"))
        self.sandbox_button = MenuPicker(parent, "sandboxPicker", self.tr("Sandbox"))
        self._model: ModelRef | None = None
        self._label = ""
        self._efforts: Sequence[str] = ()
        self._model_keys = ""
        self._sandbox: SandboxMode | None = None
        self._sandbox_obstacle: str | None = None
        self.approval_button.offer(planning_words(), PLANNING)
        for policy in POLICIES:
            self.approval_button.offer(approval_words(policy), policy)
        for mode in MODES:
            self.sandbox_button.offer(sandbox_words(mode), mode)
        self.effort_button.chosen.connect(self.effort_chosen)
        self.approval_button.chosen.connect(self._choose_approval)
        self.sandbox_button.chosen.connect(self.sandbox_chosen)

    def _choose_approval(self, value: str) -> None:
        is_planning = value == PLANNING
        self.mode_chosen.emit(None if is_planning else value, is_planning)

    def show_mode(
        self, model: ModelRef | None, approval: ApprovalPolicy, sandbox: SandboxMode, *, is_planning: bool = False
    ) -> None:
        if model is not None and model != self._model:
            if self._model is None or (model.provider, model.model) != (self._model.provider, self._model.model):
                self._label, self._efforts = "", ()  # until they are available
            self._model = model
            self._show_model(model)
            self.model_shown.emit(model)
        self.approval_button.show_value(PLANNING if is_planning else approval)
        if (planning := self.approval_button.action(PLANNING)) is not None:  # an agent has a mode of its own for it
            planning.setVisible(model is None or not model.is_agent)
        self._sandbox = sandbox
        self._show_sandbox()

    def show_label(self, model: ModelRef, label: str, efforts: Sequence[str] = ()) -> None:
        """Show the name of `model`, if it is still current, and its levels of effort.

        The tooltip keeps the model's id.
        """
        if model == self._model and (label, efforts) != (self._label, self._efforts):
            self._label, self._efforts = label, efforts
            self._show_model(model)

    def set_model_keys(self, keys: str) -> None:
        self._model_keys = keys
        if self._model is not None:
            self._show_model(self._model)

    def _show_model(self, model: ModelRef) -> None:
        is_demo = model.provider == DEMO
        label = self._label or model.name
        label = self.tr("Demo model") if is_demo else label[:MAX_LABEL].rstrip()
        level = f" · {model.effort}" if model.effort and not self._efforts else ""
        self.model_button.set_texts(f"{label}{level} ▾", f"{_SHORTENED.sub('', label)}{level} ▾")
        if is_demo:
            words = self.tr("A scripted model; no key and no network")
        elif model.is_agent:
            words = self.tr("{0}, an agent of another program").format(model.model)
        else:
            words = self.tr("{0} by {1}").format(model.model, _whose(model))
        if model.effort:
            words = self.tr("{0}, {1} effort").format(words, model.effort)
        self.model_button.setToolTip(plain_tooltip(f"{words}\n{self._model_keys}".strip()))
        self.model_button.setAccessibleDescription(words)
        self.model_button.show()
        self.effort_button.menu().clear()  # which deletes the actions of the last model
        own = self.tr("default")
        for level in ("", *self._efforts):
            self.effort_button.offer((level or own, "" if level else self.tr("The model decides")), level)
        self.effort_button.check(model.effort)
        shown = model.effort or own
        self.effort_button.set_texts(self.tr("Effort: {0}").format(shown) + " ▾", f"{shown} ▾")
        self.effort_button.setToolTip(self.tr("How much the model thinks before it answers"))
        self.effort_button.setVisible(bool(self._efforts))

    def show_sandbox_availability(self, is_available: bool, reason: str) -> None:
        self._sandbox_obstacle = None if is_available else reason
        self._show_sandbox()

    def _show_sandbox(self) -> None:
        if self._sandbox is None:
            return
        if self._model is not None and self._model.is_agent:  # it is confined as its definition says
            self.sandbox_button.hide()
            return
        self.sandbox_button.show_value(self._sandbox)
        is_wanted = self._sandbox != "none"
        if is_wanted and self._sandbox_obstacle is not None:
            self.sandbox_button.set_texts(self.tr("Sandbox not available") + " ▾", self.tr("No sandbox here") + " ▾")
            self.sandbox_button.setToolTip(plain_tooltip(self._sandbox_obstacle))
            self.sandbox_button.setAccessibleDescription(self._sandbox_obstacle)
        else:
            self.sandbox_button.setAccessibleDescription("")
        restyle(self.sandbox_button, "variant", "" if is_wanted and self._sandbox_obstacle is None else "warning")


def _whose(model: ModelRef) -> str:
    label = PROVIDER_LABELS.get(model.provider, model.provider)
    return f"{label} ({model.account})" if model.account else label


_FIRST: Final = ("model", "thought_level", "mode")
"""The categories of the options that most need their own button."""


class OptionsButton(PickerButton):
    """A button for one option, or with `options` for several that share this one."""

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
