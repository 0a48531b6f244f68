"""The settings section about plugins: what each brings and starts, and a form that shows this before one is added."""

from collections.abc import Iterator, Sequence
from functools import partial

from PySide6.QtCore import QCoreApplication
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QFrame, QPushButton, QWidget

from desktop_agent.core.system.session_bus import FileQuestion
from desktop_agent.ui.settings.page_parts import (
    AddingForm,
    CardList,
    Page,
    Removal,
    answer_button,
    field_row,
    settings_of,
)
from desktop_agent.ui.settings.settings_view import (
    PluginActions,
    PluginView,
    SettingsActions,
    StagedPluginView,
)
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.translation import core_words
from desktop_agent.ui.widgets.buttons import Switch, compact_button, make_button
from desktop_agent.ui.widgets.file_chooser import choose_files
from desktop_agent.ui.widgets.labels import ElidedLabel, Note, make_label, show_text
from desktop_agent.ui.widgets.layouts import STRETCH, add_parts, discard_all, hbox, set_names, vbox
from desktop_agent.ui.wording import plain_tooltip, visible_line

_tr = partial(QCoreApplication.translate, "PluginWords")


class PluginContents(QWidget):
    """What a plugin brings for the model, and in full what it starts."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._shown: PluginView | None = None
        self._lines = vbox(on=self, spacing=Space.XS)

    def show_plugin(self, plugin: PluginView, left_out: Sequence[str] = ()) -> None:
        if plugin == self._shown:
            return
        self._shown = plugin
        discard_all(self._lines)
        texts = (
            (_tr("Skills: {0}"), plugin.skills),
            (_tr("Commands: {0}"), plugin.commands),
            (_tr("Sub-agents: {0}"), plugin.agents),
        )
        for words, names in texts:
            if names:
                listed = ", ".join(name.removeprefix(f"{plugin.title}:") for name in names)
                self._lines.addWidget(Note(words.format(visible_line(listed).text), "text"))
        if plugin.unconfined:
            self._lines.addWidget(Note(_tr("It runs these as you do, outside the sandbox:"), "warning"))
        self._add_commands(plugin.unconfined)
        if plugin.confined:
            self._lines.addWidget(Note(_tr("It runs these in the sandbox:"), "text"))
        self._add_commands(plugin.confined)
        for line in plugin.problems:
            self._lines.addWidget(Note(_tr("Not used: {0}").format(line), "secondary"))
        if left_out:
            words = _tr("Left out, because they lead out of the plugin or are not files: {0}")
            self._lines.addWidget(Note(words.format(", ".join(left_out)), "secondary"))

    def _add_commands(self, lines: Sequence[str]) -> None:
        for line in lines:
            label = make_label(line, object_name="pluginStarts", wraps=True, is_plain=True, is_selectable=True)
            label.setFont(self._theme.code_font())
            self._lines.addWidget(label)


class PluginCard(QFrame):
    def __init__(self, theme: Theme, plugin: PluginView, page: "PluginsPage") -> None:
        super().__init__()
        self.setObjectName("pluginCard")
        self.setProperty("role", "surface")
        self._page = page
        self._plugin = plugin
        self._switch = Switch(theme)
        set_names(self._switch, "pluginSwitch", self.tr("Use the plugin {0}").format(plugin.title))
        self._switch.clicked.connect(self._on_switch)
        self._version = make_label("", role="secondary", is_plain=True)
        self._place = ElidedLabel(role="secondary", takes_room=True)
        self._about, self._state = Note("", "text"), Note("", object_name="pluginState")
        self._contents = PluginContents(theme)
        self._renew = compact_button(
            self.tr("Allow it as it is now"), "renewPluginButton", clicked=self._on_renew,
            accessible_name=self.tr("Allow the plugin {0} as it is now").format(plugin.title),
        )  # fmt: skip
        self._answer = answer_button(plugin.title, partial(page.section_wanted.emit, "project"))
        self._update = compact_button(
            self.tr("Update…"), "updatePluginButton", clicked=self._on_update,
            accessible_name=self.tr("Update the plugin {0}").format(plugin.title),
        )  # fmt: skip
        self._removal = Removal(
            "removePluginButton",
            "reallyRemovePluginButton",
            "keepPluginButton",
            remove=partial(page.plugin_actions.remove, plugin.title),
            changed=self._update_buttons,
            accessible_name=self.tr("Remove the plugin {0}").format(plugin.title),
            question=self.tr("Remove {0} and everything that its programs stored?").format(plugin.title),
        )
        name = make_label(plugin.title, role="strong", is_plain=True)
        head = hbox(self._switch, name, self._version, (self._place, 1), spacing=Space.S)
        row = hbox(self._renew, self._update, *self._removal.parts, STRETCH, spacing=Space.S)
        foot = hbox((self._state, 1), self._answer, spacing=Space.S)
        parts = (self._about, self._contents, foot, row)
        vbox(head, *parts, on=self, spacing=Space.XS, margins=(0, Space.S, 0, Space.S))
        self._removal.ask(is_asking=False)
        self.show_plugin(plugin)

    def show_plugin(self, plugin: PluginView) -> None:
        """Show a plugin. Emits no signal."""
        self._plugin = plugin
        self._switch.setChecked(plugin.state != "off")
        self._switch.setVisible(plugin.state in ("on", "off", "changed"))
        self._version.setText(visible_line(plugin.version).text)
        self._place.setText(visible_line(plugin.place).text)
        self._place.setToolTip(plain_tooltip(visible_line(plugin.detail).text))
        show_text(self._about, visible_line(plugin.about).text)
        self._contents.show_plugin(plugin)
        self._state.say(*self._words())
        self._state.setVisible(bool(self._state.text()))
        self._update_buttons()

    def _words(self) -> tuple[str, str]:
        match self._plugin.state:
            case "waiting":
                return self.tr("It waits until you trust the project."), "warning"
            case "changed":
                return self.tr(
                    "It has changed since you allowed it, so it starts nothing until you allow it again."
                ), "warning"
            case "unusable":
                words = self.tr("It cannot be used: {0}.")
                return words.format(core_words(visible_line(self._plugin.reason).text)), "warning"
            case _:
                return "", "secondary"

    def _update_buttons(self) -> None:
        plugin, is_asking = self._plugin, self._removal.is_asking
        self._answer.setVisible(plugin.state == "waiting")
        self._renew.setVisible(plugin.state == "changed" and not is_asking)
        self._update.setVisible(bool(plugin.source) and not is_asking)
        self._removal.button.setVisible(plugin.is_mine and not is_asking)

    def _on_switch(self) -> None:
        self._page.switch(self._plugin.title, is_on=self._switch.isChecked())

    def _on_update(self) -> None:
        self._page.begin(self._plugin)

    def _on_renew(self) -> None:
        self._page.plugin_actions.renew(self._plugin.title, self._plugin.digest)


class PluginForm(AddingForm):
    """Asks where a plugin is, shows what it would bring and start, and then adds or updates it."""

    def __init__(self, theme: Theme, button: QPushButton, actions: PluginActions) -> None:
        super().__init__("pluginProblem", button)
        self._actions = actions
        self._source = self.add_line(
            "pluginSourceEdit", self.tr("Folder or address of the plugin"), "https://github.com/obra/superpowers"
        )
        self._inside = self.add_line(
            "pluginFolderEdit", self.tr("Subfolder of the plugin"), self.tr("Only if the plugin is not at the top")
        )
        self._browse = make_button(self.tr("Choose…"), "choosePluginButton", clicked=self._on_browse)
        self._browse.setAccessibleName(self.tr("Choose the folder of the plugin"))
        self._look = make_button(self.tr("Show what it brings"), "stagePluginButton", clicked=self.confirm)
        self._add = make_button("", "confirmAddPluginButton", clicked=self._on_add)
        self._heading = make_label("", role="strong")
        self._title = make_label("", role="strong", is_plain=True)
        self._about, self._contents = Note("", "text"), PluginContents(theme)
        cancel = make_button(self.tr("Cancel"), "cancelAddPluginButton", clicked=self.cancelled.emit)
        self._busy = Note("", object_name="pluginBusy")
        for line in (self._source, self._inside):
            line.textEdited.connect(self._on_edited)
        self.cancelled.connect(actions.discard)
        vbox(
            self._heading,
            field_row(self.tr("From"), hbox((self._source, 1), self._browse, spacing=Space.S)),
            field_row(self.tr("Subfolder"), self._inside),
            field_row("", self._title, self._about, self._contents, self._busy, self.problem),
            field_row("", hbox(self._look, self._add, cancel, STRETCH, spacing=Space.S)),
            on=self,
            spacing=Space.M,
        )

    def begin(self, plugin: PluginView | None = None) -> None:
        """Ask for a new plugin, or look at what an added one has become."""
        self._source.setText(plugin.source if plugin is not None else "")
        self._inside.setText(plugin.inside if plugin is not None else "")
        title = self.tr("New plugin") if plugin is None else self.tr("Update {0}").format(plugin.title)
        self._heading.setText(title)
        self._forget()
        self.enter()
        self._source.setFocus()
        if plugin is not None:
            self.confirm()

    def confirm(self) -> None:
        """Show what the plugin would bring."""
        if not self._source.text().strip():
            show_text(self.problem, self.tr("Name a folder, or the address of a git repository."))
            return
        self.problem.hide()
        show_text(self._busy, self.tr("Fetching it. None of it runs…"))
        self._look.setEnabled(False)
        self._actions.stage(self._source.text().strip(), self._inside.text().strip())

    def show_staged(self, staged: StagedPluginView) -> None:
        self._forget()
        if staged.plugin is None:
            show_text(self.problem, staged.problem)
            return
        plugin = staged.plugin
        if staged.is_current:
            show_text(self._busy, self.tr("{0} is up to date.").format(visible_line(plugin.title).text))
            return
        self._add.setText(self.tr("Update") if staged.is_update else self.tr("Add"))
        self._title.setText(visible_line(f"{plugin.title} {plugin.version}".strip()).text)
        show_text(self._about, visible_line(plugin.about).text)
        self._contents.show_plugin(plugin, staged.left_out)
        self._show_parts(is_staged=True)
        self._source.setFocus()  # so that no key that was meant for the look adds it

    def _on_edited(self) -> None:
        self._actions.discard()  # what is shown, or still fetched, is not what the fields say
        self._forget()

    def _forget(self) -> None:
        self._look.setEnabled(True)
        self._show_parts(is_staged=False)

    def _show_parts(self, *, is_staged: bool) -> None:
        self._busy.hide()
        for widget in (self._title, self._contents, self._add):
            widget.setVisible(is_staged)
        self._about.setVisible(is_staged and bool(self._about.text()))
        self._look.setVisible(not is_staged)

    def _on_add(self) -> None:
        self.leave()
        self._actions.add()

    def _on_browse(self) -> None:
        question = FileQuestion(kind="folder", title=self.tr("Choose the folder of the plugin"))
        choose_files(self, question, lambda chosen: self._choose(chosen.paths[0]))

    def _choose(self, path: str) -> None:
        self._source.setText(path)
        self._on_edited()


class PluginsPage(Page):
    def __init__(self, title: str, theme: Theme, actions: SettingsActions) -> None:
        super().__init__(title, theme, actions)
        self.plugin_actions = actions.plugins
        self._cards = CardList(self, lambda plugin: PluginCard(theme, plugin, self), PluginCard.show_plugin)
        self._form: PluginForm | None = None

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.look()

    def look(self) -> None:
        self.plugin_actions.look()

    def _build(self) -> Iterator[None]:
        about = self.tr(
            "Folders that bundle skills, commands, sub-agents, hooks and MCP servers, made for Claude Code or in the "
            "open format. You see what a plugin brings and starts before you add it."
        )
        self.column.addWidget(Note(about))
        yield from self.add_rows(settings_of("plugins", ("plugins.off",)))
        self._add = make_button(self.tr("Add plugin…"), "addPluginButton", clicked=partial(self.begin, None))
        self._form_place = vbox()
        self._empty = Note("", object_name="pluginsEmpty")
        self.column.addLayout(hbox(self._add, STRETCH, spacing=Space.S))
        add_parts(self.column, self._form_place, self._empty, self._cards.column, STRETCH)

    def show_plugins(self, plugins: Sequence[PluginView]) -> None:
        self.show_later("plugins", lambda: self._show_plugins(plugins))

    def show_staged(self, staged: StagedPluginView) -> None:
        if self._form is not None and self._form.isVisible():
            self._form.show_staged(staged)

    def _show_plugins(self, plugins: Sequence[PluginView]) -> None:
        self._cards.show(plugins, self._add)
        show_text(self._empty, "" if plugins else self.tr("There are no plugins yet."))

    def begin(self, plugin: PluginView | None = None) -> None:
        if self._form is None:
            self._form = PluginForm(self.theme, self._add, self.plugin_actions)
            self._form_place.addWidget(self._form)
        self._form.begin(plugin)
        self.ensureWidgetVisible(self._form)

    def switch(self, name: str, *, is_on: bool) -> None:
        if self.view is not None:
            others = [other for other in self.view.settings.plugins.off if other != name]
            self.settings_actions.change("plugins.off", others if is_on else [*others, name])
