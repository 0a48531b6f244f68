"""The settings section about skills: each with what it is for, where it is, what it costs, and a switch."""

from collections.abc import Iterator

from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QFrame

from desktop_agent.ui.settings.generated_page import settings_of
from desktop_agent.ui.settings.page_parts import CardList, Page
from desktop_agent.ui.settings.settings_view import SettingsActions, SkillsView, SkillView
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.translation import core_words
from desktop_agent.ui.widgets.buttons import Switch
from desktop_agent.ui.widgets.labels import ElidedLabel, Note, make_label, show_text
from desktop_agent.ui.widgets.layouts import STRETCH, add_parts, hbox, set_names, vbox
from desktop_agent.ui.wording.visible_text import plain_tooltip, visible_line


class SkillCard(QFrame):
    def __init__(self, theme: Theme, skill: SkillView, page: "SkillsPage") -> None:
        super().__init__()
        self.setObjectName("skillCard")
        self.setProperty("role", "surface")
        self._page = page
        self._skill = skill
        title = visible_line(skill.title).text
        self._switch = Switch(theme)
        set_names(self._switch, "skillSwitch", self.tr("Use the skill {0}").format(title))
        self._switch.clicked.connect(self._on_switch)
        self._place = ElidedLabel(role="secondary", takes_room=True)
        self._tokens = make_label("", role="secondary")
        self._about, self._state = Note("", "text"), Note("", object_name="skillState")
        name = make_label(title, role="strong", is_plain=True)
        head = hbox(self._switch, name, (self._place, 1), self._tokens, spacing=Space.S)
        vbox(head, self._about, self._state, on=self, spacing=Space.XS, margins=(0, Space.XS, 0, Space.XS))
        self.show_skill(skill)

    def show_skill(self, skill: SkillView) -> None:
        """Show a skill. Emits no signal."""
        self._skill = skill
        self._switch.setChecked(skill.state == "on")
        self._switch.setVisible(skill.state in ("on", "off"))
        self._place.setText(visible_line(skill.place).text)
        self._place.setToolTip(plain_tooltip(visible_line(skill.name).text))
        self._tokens.setText(self.tr("{0} tokens").format(f"{skill.tokens:,}"))
        self._tokens.setToolTip(self.tr("About what its text takes, once it is read"))
        self._about.setText(visible_line(skill.about).text)
        self._state.say(*self._words())
        self._state.setVisible(bool(self._state.text()))

    def _words(self) -> tuple[str, str]:
        skill = self._skill
        if skill.state == "waiting":
            return self.tr("It waits until you trust the project."), "warning"
        if skill.state == "unusable":
            return self.tr("It cannot be used: {0}.").format(core_words(visible_line(skill.reason).text)), "warning"
        who = "" if skill.is_for_model else self.tr("The model is not told of it; you call for it by its name.")
        if not skill.is_for_user:
            who = self.tr("Only the model uses it.")
        return " ".join(filter(None, (core_words(visible_line(skill.reason).text), who))), "secondary"

    def _on_switch(self) -> None:
        self._page.switch(self._skill.title, is_on=self._switch.isChecked())


class SkillsPage(Page):
    def __init__(self, title: str, theme: Theme, actions: SettingsActions) -> None:
        super().__init__(title, theme, actions)
        self._cards = CardList(self, lambda skill: SkillCard(theme, skill, self), SkillCard.show_skill)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.settings_actions.look_at_skills()

    def _build(self) -> Iterator[None]:
        about = self.tr(
            "Instructions for particular tasks, from the folders of all agents. The model is told names and purposes, "
            "and reads the text of a skill when a task fits. You call for one with a slash and its name."
        )
        self._cost = Note("", object_name="skillsCost")
        self.column.addWidget(Note(about))
        yield from self.add_rows(settings_of("skills", ("skills.off",)))
        self._empty = Note("", object_name="skillsEmpty")
        add_parts(self.column, Space.XS, self._cost, self._empty, self._cards.column, STRETCH)

    def show_skills(self, view: SkillsView) -> None:
        self.show_later("skills", lambda: self._show_skills(view))

    def _show_skills(self, view: SkillsView) -> None:
        self._cards.show(view.skills, self)
        cost = self.tr("Their list takes about {0} tokens of each request.").format(f"{view.tokens:,}")
        show_text(self._cost, cost if view.tokens else "")
        empty = self.tr(
            "There are no skills. One is a folder with a file SKILL.md, such as .agents/skills/release/SKILL.md, in "
            "this folder or in your home folder."
        )
        show_text(self._empty, "" if view.skills else empty)

    def switch(self, name: str, *, is_on: bool) -> None:
        if self.view is not None:
            others = [other for other in self.view.settings.skills.off if other != name]
            self.settings_actions.change("skills.off", others if is_on else [*others, name])
