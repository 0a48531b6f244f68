"""The section about rules: what earlier answers allow or forbid from now on, and the way to take that back."""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

from PySide6.QtCore import QLocale, Qt
from PySide6.QtWidgets import QLineEdit, QVBoxLayout, QWidget

from desktop_agent.core.protocol.model import Rule
from desktop_agent.ui.settings.parts import Page, note
from desktop_agent.ui.settings.rule_row import RuleRow
from desktop_agent.ui.settings.sections import section_title
from desktop_agent.ui.theme import Theme


class RulesPage(Page):
    """The rules in force in the session that is shown, as they come."""

    def __init__(self, theme: Theme, now: Callable[[], datetime], revoke: Callable[[str], None]) -> None:
        """`revoke` takes back a rule (its id)."""
        super().__init__(section_title("rules"))
        self._revoke = revoke
        self._theme = theme
        self._now = now
        self._rules: tuple[Rule, ...] = ()
        self._rows: list[RuleRow] = []

    def _build(self) -> Iterator[None]:
        self._filter = QLineEdit()
        self._filter.setObjectName("rulesFilter")
        self._filter.setAccessibleName(self.tr("Filter rules"))
        self._filter.setPlaceholderText(self.tr("Filter rules"))
        self._filter.setClearButtonEnabled(True)
        self._filter.textChanged.connect(self._apply_filter)
        self._empty = note("")
        self._empty.setObjectName("rulesEmpty")
        self._list = QVBoxLayout()
        self._list.setSpacing(0)
        self.column.addWidget(
            note(self.tr("What your earlier answers allow without a question, in the session that is shown."))
        )
        self.column.addWidget(self._filter)
        self.column.addWidget(self._empty)
        self.column.addLayout(self._list)
        self.column.addStretch()
        yield

    def _on_built(self) -> None:
        self.show_rules(self._rules)

    @property
    def rows(self) -> list[RuleRow]:
        """The rows that are not filtered out."""
        return [row for row in self._rows if not row.isHidden()]

    def show_rules(self, rules: Sequence[Rule]) -> None:
        """Show these rules. The focus stays where it was, as far as there is such a place."""
        self._rules = tuple(rules)
        if not self._is_built:
            return
        focused = next((index for index, row in enumerate(self._rows) if row.button.hasFocus()), None)
        for row in self._rows:
            self._list.removeWidget(row)
            row.hide()
            row.deleteLater()
        now, locale = self._now(), QLocale()
        self._rows = [RuleRow(self._theme, rule, now, locale) for rule in self._rules]
        for row in self._rows:
            row.revoked.connect(self._revoke)
            self._list.addWidget(row)
        self._filter.setVisible(bool(self._rules))
        self._apply_filter()
        if focused is not None:
            place: QWidget = self._rows[min(focused, len(self._rows) - 1)].button if self._rows else self
            place.setFocus(Qt.FocusReason.OtherFocusReason)

    def _apply_filter(self) -> None:
        wanted = self._filter.text().strip().casefold()
        for row in self._rows:
            row.setVisible(wanted in row.searched_text)
        if not self._rules:
            text = self.tr(
                "There are no rules. When you are asked, choose more than “Only this once”, and it is listed here."
            )
        else:
            text = "" if self.rows else self.tr("No rule matches.")
        self._empty.setText(text)
        self._empty.setVisible(bool(text))
