"""The settings sections about skills, hooks and language servers: each with its place, its state, and a switch."""

from collections.abc import Callable, Iterator
from typing import cast

from PySide6.QtCore import Qt
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QFrame

from desktop_agent.core.settings.values import value_of
from desktop_agent.ui.settings.page_parts import CardList, Page, settings_of
from desktop_agent.ui.settings.project_page import drawn
from desktop_agent.ui.settings.settings_view import (
    ExtensionKind,
    ExtensionsView,
    ExtensionView,
    SettingsActions,
    section_title,
)
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.translation import core_words
from desktop_agent.ui.widgets.buttons import Switch, make_button
from desktop_agent.ui.widgets.labels import ElidedLabel, Note, make_label, show_text
from desktop_agent.ui.widgets.layouts import STRETCH, add_parts, hbox, set_names, vbox
from desktop_agent.ui.wording.visible_text import plain_tooltip, visible_line


class ExtensionCard(QFrame):
    def __init__(self, theme: Theme, item: ExtensionView, page: "ExtensionsPage") -> None:
        super().__init__()
        self.setObjectName("extensionCard")
        self.setProperty("role", "surface")
        self._page = page
        self._item = item
        title = visible_line(item.title).text
        self._switch = Switch(theme)
        uses = {
            "skills": self.tr("Use the skill {0}"),
            "hooks": self.tr("Run the hook {0}"),
            "diagnostics": self.tr("Use the language server {0}"),
        }
        set_names(self._switch, "extensionSwitch", uses[page.kind].format(title))
        self._switch.clicked.connect(self._on_switch)
        self._place = ElidedLabel(Qt.TextElideMode.ElideMiddle, role="secondary", takes_room=True)
        self._tokens = make_label("", role="secondary")
        self._about, self._state = Note("", "text"), Note("", object_name="extensionState")
        if page.kind != "skills":
            self._about.setFont(theme.code_font())
        answer = self.tr("Decide whether to trust the project, which brings {0}").format(title)
        self._answer = make_button(
            self.tr("Answer…"), "answerProjectButton", accessible_name=answer, clicked=page.answer, is_compact=True
        )
        name = make_label(title, role="strong", is_plain=True)
        head = hbox(self._switch, name, (self._place, 1), self._tokens, spacing=Space.S)
        foot = hbox((self._state, 1), self._answer, spacing=Space.S)
        vbox(head, self._about, foot, on=self, spacing=Space.XS, margins=(0, Space.XS, 0, Space.XS))
        self.show_item(item)

    def show_item(self, item: ExtensionView) -> None:
        """Show it as it is now. Emits no signal."""
        self._item = item
        self._switch.setChecked(item.state in ("on", "failed"))
        self._switch.setEnabled(item.can_switch)
        self._place.setText(visible_line(item.place).text)
        self._place.setToolTip(plain_tooltip(visible_line(item.path).text))
        show_text(self._tokens, self.tr("{0} tokens").format(f"{item.tokens:,}") if item.tokens is not None else "")
        self._tokens.setToolTip(self.tr("About how many tokens its text takes once it is read"))
        self._about.setText(drawn(item.about))
        self._state.say(*self._words())
        self._state.setVisible(bool(self._state.text()))
        self._answer.setVisible(item.state in ("waiting", "changed"))

    def _words(self) -> tuple[str, str]:
        item = self._item
        reason = core_words(visible_line(item.reason).text)
        match item.state:
            case "waiting":
                return self.tr("It waits until you trust the project."), "warning"
            case "changed":
                return self.tr("It or its script has changed since your answer, so it waits."), "warning"
            case "failed":
                return self.tr("It does not run: {0}.").format(reason), "warning"
            case "unusable":
                return self.tr("It cannot be used: {0}.").format(reason), "warning"
            case "off" if item.reason:
                return self.tr("It is not used: {0}.").format(reason), "secondary"
            case "on" | "off":
                who = "" if item.is_for_model else self.tr("The model does not see it; you call it by its name.")
                if not item.is_for_user:
                    who = self.tr("Only the model uses it.")
                return " ".join(filter(None, (reason, who))), "secondary"

    def _on_switch(self) -> None:
        self._page.switch(self._item.key, is_on=self._switch.isChecked())


class ExtensionsPage(Page):
    def __init__(
        self, kind: ExtensionKind, theme: Theme, actions: SettingsActions, answer: Callable[[], object]
    ) -> None:
        """`answer` opens the question about the project."""
        super().__init__(section_title(kind), theme, actions)
        self.kind: ExtensionKind = kind
        self.answer = answer
        self._cards = CardList(self, lambda item: ExtensionCard(theme, item, self), ExtensionCard.show_item)

    def look(self) -> None:
        self.settings_actions.look_at_extensions(self.kind)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.look()

    def _build(self) -> Iterator[None]:
        about = {
            "skills": self.tr(
                "Instructions for particular tasks, from the folders of all agents. The model sees their names "
                "and purposes, and reads a skill when it fits the task. You call one with a slash and its name."
            ),
            "hooks": self.tr(
                "Commands that run at certain moments of a session, such as before a call: yours, and the project's "
                "once you trust them. They run as you do, outside the sandbox."
            ),
            "diagnostics": self.tr(
                "Programs that find errors in code. They check the files that a call changed; the model reads what is "
                "new, and the review marks it. They run in the sandbox."
            ),
        }
        self._cost = Note("", object_name="extensionsCost")
        self.column.addWidget(Note(about[self.kind]))
        yield from self.add_rows(settings_of(self.kind, (f"{self.kind}.off",)))
        self._problems = Note("", "warning", object_name="extensionProblems")
        self._empty = Note("", object_name="extensionsEmpty")
        parts = (self._cost, self._problems, self._empty, self._cards.column, STRETCH)
        add_parts(self.column, Space.XS, *parts)

    def show_extensions(self, view: ExtensionsView) -> None:
        self.show_later("extensions", lambda: self._show_extensions(view))

    def _show_extensions(self, view: ExtensionsView) -> None:
        self._cards.show(view.items, self)
        cost = self.tr("Their list takes about {0} tokens of each request.").format(f"{view.tokens:,}")
        missing = self.tr("Supported, but not installed: {0}.").format(", ".join(view.missing))
        show_text(self._cost, cost if view.tokens else missing if view.missing else "")
        show_text(self._problems, "\n".join(map(drawn, view.problems)))
        empty = {
            "skills": self.tr(
                "There are no skills. A skill is a folder with a file SKILL.md, such as "
                ".agents/skills/release/SKILL.md, in this folder or in your home folder."
            ),
            "hooks": self.tr(
                "There are no hooks. Define yours in the settings file, in tables [[hooks.definitions]]; a project's "
                "are in files such as .claude/settings.json."
            ),
            "diagnostics": self.tr(
                "There are no language servers. Install a supported one, or define your own in the settings file, in a "
                "table [[diagnostics.definitions]]."
            ),
        }
        show_text(self._empty, "" if view.items else empty[self.kind])

    def switch(self, key: str, *, is_on: bool) -> None:
        if self.view is not None:
            off = value_of(self.view.settings, f"{self.kind}.off")
            others = [other for other in cast("tuple[str, ...]", off) if other != key]
            self.settings_actions.change(f"{self.kind}.off", others if is_on else [*others, key])
