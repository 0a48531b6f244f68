"""The settings dialog: a view of the settings, which tells what the person wants and changes nothing itself."""

from typing import TYPE_CHECKING, Literal

from PySide6.QtCore import Signal
from PySide6.QtWidgets import (
    QDialog,
    QFrame,
    QHBoxLayout,
    QPushButton,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from desktop_agent.ui.hairline import hairline
from desktop_agent.ui.settings.appearance_page import AppearancePage
from desktop_agent.ui.settings.approvals_page import ApprovalsPage
from desktop_agent.ui.settings.model_page import ModelPage
from desktop_agent.ui.settings.navigation import Navigation
from desktop_agent.ui.settings.parts import note
from desktop_agent.ui.settings.rules_page import RulesPage
from desktop_agent.ui.theme import Space, Theme

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import datetime

    from desktop_agent.core.model import Rule
    from desktop_agent.core.settings import Settings
    from desktop_agent.ui.settings.key_status import KeyCheck, KeyStatus

Section = Literal["model", "appearance", "approvals", "rules"]

_NAVIGATION_WIDTH = 148


class SettingsDialog(QDialog):
    """Model and key, looks, approvals, rules. Show it with `open()`; what is changed applies at once.

    Signals:
        changed: a setting is to have this value: its dotted name (`ui.theme`), the value.
        key_saved: keep this key: provider, key. It is not in the dialog any more.
        key_removed: forget the key that is kept: provider.
        key_check_requested: see whether a key works: provider, and the typed key or nothing for the one in use.
        rule_revoked: a rule (id) is to hold no longer.
    """

    changed = Signal(str, object)
    key_saved = Signal(str, str)
    key_removed = Signal(str)
    key_check_requested = Signal(str, str)
    rule_revoked = Signal(str)

    def __init__(
        self, theme: Theme, models: "Iterable[str]", now: "Callable[[], datetime]", parent: QWidget | None = None
    ) -> None:
        """`models` are the names offered for the model; any other can be typed."""
        super().__init__(parent)
        self.setObjectName("settingsDialog")
        self.setWindowTitle(self.tr("Settings"))
        self.setAccessibleName(self.tr("Settings"))
        self.setModal(True)
        self._model = ModelPage(models)
        self._appearance = AppearancePage()
        self._approvals = ApprovalsPage(theme)
        self._rules = RulesPage(theme, now)
        names = [self.tr("Model"), self.tr("Appearance"), self.tr("Approvals"), self.tr("Rules")]
        self._sections = Navigation(theme, names)
        self._pages = QStackedWidget()
        self._lay_out()
        self._connect()
        self.resize(700, 580)
        self.setMinimumSize(480, 320)

    # --- what the window asks -------------------------------------------------------------------------------------

    def show_settings(self, settings: "Settings") -> None:
        """Show what is in force. Emits nothing."""
        self._model.show_settings(settings.model)
        self._appearance.show_settings(settings.ui)
        self._approvals.show_settings(settings.execution)

    def show_section(self, section: Section) -> None:
        """Turn to a section."""
        self._sections.setCurrentRow(("model", "appearance", "approvals", "rules").index(section))

    def show_rules(self, rules: "Sequence[Rule]") -> None:
        """Show the rules in force."""
        self._rules.show_rules(rules)

    def show_key_status(self, status: "KeyStatus") -> None:
        """Show where the key in use comes from."""
        self._model.key.show_status(status)

    def show_key_busy(self, message: str) -> None:
        """Show that the key is being checked, saved or removed."""
        self._model.key.show_busy(message)

    def show_key_result(self, check: "KeyCheck") -> None:
        """Show what came of checking, saving or removing the key."""
        self._model.key.show_result(check)

    # --- building -------------------------------------------------------------------------------------------------

    def _lay_out(self) -> None:
        for page in (self._model, self._appearance, self._approvals, self._rules):
            self._pages.addWidget(page)
        navigation = QWidget()
        navigation.setAutoFillBackground(True)
        navigation.setFixedWidth(_NAVIGATION_WIDTH)
        inside = QVBoxLayout(navigation)
        inside.setContentsMargins(Space.S, Space.L, Space.S, Space.S)
        inside.addWidget(self._sections)
        upper = QHBoxLayout()
        upper.setSpacing(0)
        upper.addWidget(navigation)
        upper.addWidget(_vertical_hairline())
        upper.addWidget(self._pages, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(upper, 1)
        column.addWidget(hairline())
        column.addWidget(self._foot())

    def _foot(self) -> QWidget:
        close = QPushButton(self.tr("Close"))
        close.setObjectName("closeSettingsButton")
        close.setAutoDefault(False)
        close.clicked.connect(self.accept)
        foot = QWidget()
        foot.setAutoFillBackground(True)
        row = QHBoxLayout(foot)
        row.setContentsMargins(Space.XL, Space.M, Space.XL, Space.M)
        row.addWidget(note(self.tr("Changes apply at once.")), 1)
        row.addWidget(close)
        return foot

    def _connect(self) -> None:
        self._sections.currentRowChanged.connect(self._pages.setCurrentIndex)
        self._sections.setCurrentRow(0)
        for page in (self._model, self._appearance, self._approvals):
            page.changed.connect(self.changed)
        self._model.key.saved.connect(self.key_saved)
        self._model.key.removed.connect(self.key_removed)
        self._model.key.check_requested.connect(self.key_check_requested)
        self._rules.rule_revoked.connect(self.rule_revoked)
        self.finished.connect(self._model.key.forget)


def _vertical_hairline() -> QFrame:
    line = QFrame()
    line.setProperty("role", "hairline")
    line.setFixedWidth(1)
    return line
