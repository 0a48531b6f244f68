"""The pickers below the composer: which model answers, and what asks for approval."""

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QAction, QActionGroup
from PySide6.QtWidgets import QMenu, QToolButton, QWidget

if TYPE_CHECKING:
    from desktop_agent.core.model import ApprovalPolicy, ModelRef

ANTHROPIC_MODELS = ("claude-sonnet-5-5", "claude-opus-5-5", "claude-haiku-5-5")
"""Offered without asking; any other name can be typed in the settings."""

_MAX_LABEL = 28


class ModePickers(QObject):
    """Two buttons with menus. They show the session's mode and ask for another.

    Signals:
        model_chosen: provider and model name.
        approval_chosen: an approval policy.
    """

    model_chosen = Signal(str, str)
    approval_chosen = Signal(str)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.model_button = self._build_button(parent, "modelPicker", self.tr("Model"))
        self.approval_button = self._build_button(parent, "approvalPicker", self.tr("Approvals"))
        self._model_group = QActionGroup(self)
        self._approval_group = QActionGroup(self)
        self._fill_approvals()
        self._model_group.triggered.connect(self._on_model)
        self._approval_group.triggered.connect(self._on_approval)

    def show_mode(self, model: "ModelRef | None", approval: "ApprovalPolicy") -> None:
        """Show what is in force."""
        if model is not None:
            self._fill_models(model)
            is_demo = model.provider == "demo"
            label = self.tr("Demo model") if is_demo else model.model[:_MAX_LABEL]
            self.model_button.setText(f"{label} ▾")
            self.model_button.setToolTip(
                self.tr("A scripted model; no key and no network")
                if is_demo
                else self.tr("{0} by {1}").format(model.model, model.provider)
            )
            self.model_button.show()
        self.approval_button.show()
        # No rule lets a command run unasked, so `never` comes to the most that is offered here.
        shown = "on_request" if approval == "never" else approval
        for action in self._approval_group.actions():
            if action.data() == shown:
                action.setChecked(True)
                self.approval_button.setText(f"{action.text()} ▾")
                self.approval_button.setToolTip(action.toolTip())

    def _build_button(self, parent: QWidget, name: str, label: str) -> QToolButton:
        button = QToolButton(parent)
        button.setObjectName(name)
        button.setAccessibleName(label)
        button.setText(f"{label} ▾")  # until a session says what is in force
        button.setProperty("compact", True)
        button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        menu = QMenu(button)
        menu.setToolTipsVisible(True)
        button.setMenu(menu)
        button.hide()  # until there is a mode to show
        return button

    def _fill_models(self, current: "ModelRef") -> None:
        known = [("anthropic", name) for name in ANTHROPIC_MODELS]
        chosen = (current.provider, current.model)
        choices = known if chosen in known or current.provider == "demo" else [chosen, *known]
        choices.append(("demo", "demo"))
        if [action.data() for action in self._model_group.actions()] != choices:
            self._replace_models(choices)
        for action in self._model_group.actions():
            action.setChecked(action.data() == chosen)

    def _replace_models(self, choices: list[tuple[str, str]]) -> None:
        menu = self.model_button.menu()
        for action in self._model_group.actions():
            self._model_group.removeAction(action)
            menu.removeAction(action)
        for provider, name in choices:
            label = self.tr("Demo model") if provider == "demo" else name
            self._add(self._model_group, menu, label, (provider, name))

    def _fill_approvals(self) -> None:
        menu = self.approval_button.menu()
        choices = (
            ("always", self.tr("Asks before every call"), self.tr("Reading, too, waits for your yes.")),
            ("on_write", self.tr("Asks before writing"), self.tr("Reading is free. Changes and commands ask.")),
            ("on_request", self.tr("Asks before commands"), self.tr("Edits in this folder are free. Commands ask.")),
        )
        for policy, label, explanation in choices:
            self._add(self._approval_group, menu, label, policy).setToolTip(explanation)

    def _add(self, group: QActionGroup, menu: QMenu, label: str, data: object) -> QAction:
        action = menu.addAction(label)
        action.setCheckable(True)
        action.setData(data)
        group.addAction(action)
        return action

    def _on_model(self, action: QAction) -> None:
        provider, name = action.data()
        self.model_chosen.emit(provider, name)

    def _on_approval(self, action: QAction) -> None:
        self.approval_chosen.emit(action.data())
