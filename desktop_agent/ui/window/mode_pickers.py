"""The pickers below the composer: which model answers, what asks for approval, and what confines commands."""

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QAction, QActionGroup
from PySide6.QtWidgets import QMenu, QToolButton, QWidget

from desktop_agent.core.models.vendors import VENDORS, known_vendor
from desktop_agent.core.protocol.model import ApprovalPolicy, ModelRef, SandboxMode
from desktop_agent.ui.widgets.buttons import PickerButton
from desktop_agent.ui.wording.mode_words import MODES, POLICIES, approval_words, sandbox_words, short_words
from desktop_agent.ui.wording.tooltips import plain_tooltip

_MAX_LABEL = 28


class ModePickers(QObject):
    """Three buttons with menus. They show the session's mode and ask for another.

    Signals:
        model_chosen: provider and model name.
        approval_chosen: an approval policy.
        sandbox_chosen: a sandbox mode.
    """

    model_chosen = Signal(str, str)
    approval_chosen = Signal(str)
    sandbox_chosen = Signal(str)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.model_button = self._build_button(parent, "modelPicker", self.tr("Model"))
        self.approval_button = self._build_button(parent, "approvalPicker", self.tr("Approvals"))
        self.sandbox_button = self._build_button(parent, "sandboxPicker", self.tr("Sandbox"))
        self._model_group = QActionGroup(self)
        self._approval_group = QActionGroup(self)
        self._sandbox_group = QActionGroup(self)
        self._sandbox: SandboxMode | None = None
        self._sandbox_obstacle: str | None = None
        for policy in POLICIES:
            self._add_explained(self._approval_group, self.approval_button, approval_words(policy), policy)
        for mode in MODES:
            self._add_explained(self._sandbox_group, self.sandbox_button, sandbox_words(mode), mode)
        self._model_group.triggered.connect(self._on_model)
        self._approval_group.triggered.connect(self._on_approval)
        self._sandbox_group.triggered.connect(self._on_sandbox)

    def show_mode(self, model: ModelRef | None, approval: ApprovalPolicy, sandbox: SandboxMode) -> None:
        """Show what is in force."""
        if model is not None:
            self._fill_models(model)
            is_demo = model.provider == "demo"
            label = self.tr("Demo model") if is_demo else model.model[:_MAX_LABEL]
            self.model_button.set_texts(f"{label} ▾", f"{label.removeprefix('claude-')} ▾")
            self.model_button.setToolTip(
                self.tr("A scripted model; no key and no network")
                if is_demo
                else self.tr("{0} by {1}").format(model.model, model.provider)
            )
            self.model_button.show()
        _show(self.approval_button, self._approval_group, approval)
        self._sandbox = sandbox
        self._show_sandbox()

    def show_sandbox_availability(self, is_available: bool, reason: str) -> None:
        """Say whether this machine can confine commands at all; if not, `reason` says why and what would help."""
        self._sandbox_obstacle = None if is_available else reason
        self._show_sandbox()

    def _show_sandbox(self) -> None:
        """Warn where nothing confines commands, in words and in colour."""
        if self._sandbox is None:
            return
        _show(self.sandbox_button, self._sandbox_group, self._sandbox)
        is_wanted = self._sandbox != "none"
        if is_wanted and self._sandbox_obstacle is not None:
            self.sandbox_button.set_texts(self.tr("Sandbox not available") + " ▾", self.tr("No sandbox here") + " ▾")
            self.sandbox_button.setToolTip(plain_tooltip(self._sandbox_obstacle))
            self.sandbox_button.setAccessibleDescription(self._sandbox_obstacle)
        else:
            self.sandbox_button.setAccessibleDescription("")
        variant = "" if is_wanted and self._sandbox_obstacle is None else "warning"
        if variant != self.sandbox_button.property("variant"):
            self.sandbox_button.setProperty("variant", variant)
            self.sandbox_button.style().unpolish(self.sandbox_button)
            self.sandbox_button.style().polish(self.sandbox_button)

    def _build_button(self, parent: QWidget, name: str, label: str) -> PickerButton:
        button = PickerButton(parent)
        button.setObjectName(name)
        button.setAccessibleName(label)
        button.set_texts(f"{label} ▾", f"{label} ▾")  # until a session says what is in force
        button.setProperty("compact", True)
        button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        menu = QMenu(button)
        menu.setToolTipsVisible(True)
        button.setMenu(menu)
        button.hide()  # until there is a mode to show
        return button

    def _fill_models(self, current: ModelRef) -> None:
        vendor = known_vendor(current.provider) or VENDORS[0]
        known = [(vendor.id, name) for name in vendor.models]
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

    def _add_explained(self, group: QActionGroup, button: PickerButton, words: tuple[str, str], data: str) -> None:
        label, explanation = words
        action = self._add(group, button.menu(), f"{label}\t{explanation}", data)
        action.setIconText(label)  # what the button says
        action.setToolTip(explanation)

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

    def _on_sandbox(self, action: QAction) -> None:
        self.sandbox_chosen.emit(action.data())


def _show(button: PickerButton, group: QActionGroup, data: str) -> None:
    """Let the button say which of the choices holds."""
    button.show()
    for action in group.actions():
        if action.data() == data:
            action.setChecked(True)
            button.set_texts(f"{action.iconText()} ▾", f"{short_words(data)} ▾")
            button.setToolTip(action.toolTip())
