"""The settings section about rules: what earlier answers allow or forbid, and buttons to revoke them."""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from functools import partial

from PySide6.QtCore import QLocale, Qt, Signal
from PySide6.QtWidgets import QFrame, QLabel, QVBoxLayout, QWidget

from desktop_agent.core.protocol.model import Rule
from desktop_agent.ui.settings.page_parts import Page
from desktop_agent.ui.settings.settings_view import SettingsActions
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.widgets.buttons import compact_button, make_line
from desktop_agent.ui.widgets.labels import ElidedLabel, Note, make_label, show_text
from desktop_agent.ui.widgets.layouts import STRETCH, add_parts, discard, hbox, vbox
from desktop_agent.ui.wording import long_moment, one_line, plain_tooltip, short_moment, short_path, visible


class RuleRow(QFrame):
    revoked = Signal(str)  # a rule's id

    def __init__(self, theme: Theme, rule: Rule, now: datetime, locale: QLocale) -> None:
        super().__init__()
        self.setObjectName("ruleRow")
        self._rule = rule
        what, shown, details = self._what(), one_line(rule.pattern), self._details(now, locale)
        self.searched_text = f"{what} {rule.pattern} {details}".casefold()
        self.setAccessibleName(f"{what} {shown}, {details}")
        kind = QLabel(what)
        pattern = ElidedLabel(Qt.TextElideMode.ElideMiddle, text=shown, takes_room=True)
        pattern.setFont(theme.code_font())
        pattern.setToolTip(plain_tooltip(visible(rule.pattern)))
        reach = make_label(details, role="secondary", wraps=True, is_plain=True)
        made = long_moment(rule.created_at, now.astimezone(), locale)
        reach.setToolTip(plain_tooltip(self.tr("Made {0}\n{1}").format(made, rule.workspace).strip()))
        self.button = compact_button(
            self.tr("Revoke"),
            "revokeRuleButton",
            accessible_name=self.tr("Revoke the rule for {0}").format(shown),
            tooltip=self.tr("The next such call asks again"),
            clicked=self._on_revoke,
            variant="destructive",
        )
        text = vbox(hbox(kind, (pattern, 1), spacing=Space.S), reach)
        hbox((text, 1), self.button, on=self, spacing=Space.M, margins=(0, Space.S, 0, Space.S))

    def _what(self) -> str:
        rule = self._rule
        verbs = {"allow": self.tr("Allow"), "ask": self.tr("Ask for"), "forbid": self.tr("Forbid")}
        exactly = self.tr("exactly") if rule.is_exact else ""
        whats = {"command": exactly, "edit": self.tr("edits of"), "tool": self.tr("calls of")}
        return f"{verbs[rule.effect]} {whats[rule.kind]}".strip()

    def _details(self, now: datetime, locale: QLocale) -> str:
        rule = self._rule
        match rule.scope:
            case "session":
                parts = [self.tr("in this session")]
            case "project":
                parts = [self.tr("in this folder")]
            case "always":
                parts = [] if rule.repository else [self.tr("everywhere")]
        if rule.repository:
            parts.append(self.tr("outside the sandbox, in {0}").format(short_path(rule.repository)))
        elif rule.is_unconfined and (rule.effect, rule.kind) != ("allow", "command"):
            parts.append(self.tr("outside the sandbox"))
        elif rule.is_unconfined:
            parts.append(self.tr("outside the sandbox, without a repository, so it does not apply: create it again"))
        here = now.astimezone()
        parts.append(self.tr("made {0}").format(short_moment(rule.created_at, here, locale)))
        if rule.expires_at is not None:
            ends = self.tr("ended {0}") if rule.expires_at <= now else self.tr("ends {0}")
            parts.append(ends.format(long_moment(rule.expires_at, here, locale)))
        elif rule.scope != "session":
            parts.append(self.tr("never ends"))
        return " · ".join(parts)

    def _on_revoke(self) -> None:
        self.button.setEnabled(False)
        self.revoked.emit(self._rule.id)


class RulesPage(Page):
    def __init__(self, title: str, theme: Theme, actions: SettingsActions, now: Callable[[], datetime]) -> None:
        super().__init__(title, theme, actions)
        self._now = now
        self._rules: list[RuleRow] = []
        self.show_rules(())

    def _build(self) -> Iterator[None]:
        self._filter = make_line("rulesFilter", self.tr("Filter rules"), self.tr("Filter rules"), is_clearable=True)
        self._filter.textChanged.connect(self._apply_filter)
        self._empty = Note(object_name="rulesEmpty")
        self._list = QVBoxLayout()
        self._list.setSpacing(0)
        about = Note(self.tr("What your earlier answers allow without asking, in the session shown."))
        add_parts(self.column, about, self._filter, self._empty, self._list, STRETCH)
        yield

    @property
    def listed(self) -> list[RuleRow]:
        return [row for row in self._rules if not row.isHidden()]

    def show_rules(self, rules: Sequence[Rule]) -> None:
        self.show_later("rules", partial(self._show_rules, rules))

    def _show_rules(self, rules: Sequence[Rule]) -> None:
        focused = next((index for index, row in enumerate(self._rules) if row.button.hasFocus()), None)
        for row in self._rules:
            self._list.removeWidget(row)
            discard(row)
        now, locale = self._now(), QLocale()
        self._rules = [RuleRow(self.theme, rule, now, locale) for rule in rules]
        for row in self._rules:
            row.revoked.connect(self.settings_actions.revoke_rule)
            self._list.addWidget(row)
        self._filter.setVisible(bool(rules))
        self._apply_filter()
        if focused is not None:
            place: QWidget = self._rules[min(focused, len(self._rules) - 1)].button if self._rules else self
            place.setFocus(Qt.FocusReason.OtherFocusReason)

    def _apply_filter(self) -> None:
        wanted = self._filter.text().strip().casefold()
        for row in self._rules:
            row.setVisible(wanted in row.searched_text)
        text = "" if self.listed else self.tr("No rule matches.")
        if not self._rules:
            text = self.tr(
                "There are no rules. To add one, choose something other than “Only this once” when you are asked."
            )
        show_text(self._empty, text)
