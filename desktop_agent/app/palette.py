"""The command palette of the application: finds entries off the window's thread, and carries out choices."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path

from msgspec.structs import replace
from PySide6.QtCore import QCoreApplication
from PySide6.QtGui import QAction, QKeySequence

from desktop_agent.app.controller import Controller, LatestQuestion, WindowContext
from desktop_agent.app.navigator import Navigator
from desktop_agent.app.sessions.window_sessions import SessionListUpdater
from desktop_agent.app.settings.settings_dialog import Setup
from desktop_agent.app.shown_folder import FolderFiles
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.base.plain_text import named
from desktop_agent.core.protocol.model import SessionSummary
from desktop_agent.core.settings.values import declared_section, declared_settings
from desktop_agent.core.slash.declarations import Declaration
from desktop_agent.ui.palette import (
    CommandPalette,
    PaletteEntry,
    PaletteQuery,
    PaletteSources,
    Scope,
    place_key_entries,
    rows_for,
)
from desktop_agent.ui.settings.setting_controls import words
from desktop_agent.ui.settings.settings_view import SECTIONS, Section, section_title
from desktop_agent.ui.translation import core_words

_MOST_REMEMBERED = 40


class PaletteOpening(Controller):
    def __init__(
        self,
        context: WindowContext,
        navigator: Navigator,
        files: FolderFiles,
        listed: SessionListUpdater,
        setup: Setup,
        *,
        open_file: Callable[[str], None],
    ) -> None:
        super().__init__(context)
        self._navigator = navigator
        self._files = files
        self._listed = listed
        self._setup = setup
        self._open_file = open_file
        self._palette: CommandPalette | None = None
        self._sources: PaletteSources | None = None
        self._questions = LatestQuestion(self._answer, self._launch)
        actions = self._panels.window.actions_
        actions.command_palette.triggered.connect(partial(self._open, "all"))
        actions.go_to_file.triggered.connect(partial(self._open, "file"))
        actions.shortcuts.triggered.connect(self._open_keys)
        files.listed.connect(self._on_files_listed)

    def make_ahead(self) -> Iterator[None]:
        palette = self._palette or self._build()
        yield
        self._sources_now()  # the names of keys are cached
        yield
        yield from palette.made_ready()

    def _open_keys(self) -> None:
        self._setup.open().show_section("keyboard")

    def _open(self, scope: Scope) -> None:
        palette = self._palette or self._build()
        self._sources = self._sources_now()
        palette.open_palette(scope)
        if palette.isVisible():
            self._launch(self._load())

    def _build(self) -> CommandPalette:
        palette = self._palette = CommandPalette(
            self._theme, self._panels.window, self._panels.window.top_bar.palette_button
        )
        palette.wanted.connect(self._on_wanted)
        palette.chosen.connect(self._on_chosen)
        return palette

    def _sources_now(self) -> PaletteSources:
        """Return the entries available without reading files. Other entries are those of the last opening."""
        known = tuple(map(_action_entry, self._panels.window.actions_.all))
        everywhere = self.tr("Everywhere")
        with_keys = tuple(replace(entry, group=everywhere, also=entry.keys) for entry in known if entry.keys)
        return replace(
            self._sources or PaletteSources(),
            actions=tuple(entry for entry in known if entry.is_choice and entry.key != "command_palette"),
            keys=(*with_keys, *place_key_entries(self._panels.window.actions_.parts.in_force)),
            files=self._files.known,
            has_folder=self._navigator.workspace is not None,
            recent=tuple(self._panels.window.memory.choices),
        )

    async def _load(self) -> None:
        sessions = self._listed.known()
        workspace = self._navigator.workspace
        declared = await asyncio.to_thread(self._bench.slash_commands, workspace) if workspace is not None else ()
        listed = await asyncio.to_thread(_session_entries, sessions, workspace)
        self._put(settings=_setting_entries(), commands=tuple(map(_command_entry, declared)), sessions=listed)
        files = await self._files.latest()
        if self._sources is not None and self._sources.files is not files:
            self._put(files=files)

    def _on_files_listed(self, files: object, _is_changed: bool) -> None:
        if self._palette is not None and self._palette.isVisible():
            self._put(files=files)

    def _put(self, **known: object) -> None:
        if self._sources is not None and self._palette is not None:
            self._sources = replace(self._sources, **known)
            if self._palette.isVisible():
                self._on_wanted(self._palette.query)

    def _on_wanted(self, query: PaletteQuery) -> None:
        assert self._palette is not None
        assert self._sources is not None
        if query.text:
            self._questions.ask(query)
        else:  # listed entries appear at once, without an empty list before
            self._questions.drop()
            self._palette.show_rows(query, rows_for(query, self._sources))

    async def _answer(self, query: PaletteQuery) -> None:
        assert self._palette is not None
        assert self._sources is not None
        self._palette.show_rows(query, await asyncio.to_thread(rows_for, query, self._sources))

    def _on_chosen(self, entry: PaletteEntry) -> None:
        if entry.kind != "key":
            memory = self._panels.window.memory
            chosen = (entry.kind, entry.key)
            others = [kept for kept in memory.choices if kept != chosen]
            memory.remember_choices([chosen, *others][:_MOST_REMEMBERED])
        match entry.kind:
            case "action":
                getattr(self._panels.window.actions_, entry.key).trigger()
            case "setting":
                sections: dict[str, Section] = {section: section for section in SECTIONS}
                if (section := sections.get(entry.key)) is not None:
                    self._setup.open().show_section(section)
                else:
                    self._setup.open().search_for(entry.key)
            case "session":
                self._navigator.go_to(entry.key)
            case "file":
                self._open_file(entry.key)
            case "command":
                # Put it before the text in the field; the user sends it.
                composer = self._panels.composer
                composer.set_text(f"/{entry.key} {composer.text()}")
                composer.setFocus()
            case "key":
                pass


def _action_entry(action: QAction) -> PaletteEntry:
    native = QKeySequence.SequenceFormat.NativeText
    keys = "  ".join(each.toString(native) for each in action.shortcuts())
    return PaletteEntry(
        kind="action", key=action.objectName(), title=action.text(), keys=keys, is_choice=action.isEnabled()
    )


@cache
def _setting_entries() -> tuple[PaletteEntry, ...]:
    """Return the sections and all settings. Only on the window's thread, because some texts come from widgets."""
    group = QCoreApplication.translate("Palette", "Settings")
    sections = (
        PaletteEntry(kind="setting", key=section, title=section_title(section), group=group)
        for section in SECTIONS
        if section != "project"  # shown only if the project has settings
    )
    settings = (
        PaletteEntry(
            kind="setting",
            key=setting.key,
            title=words(setting.about.title),
            group=words(declared_section(setting.section).title),
            also=setting.key,
        )
        for setting in declared_settings().values()
        if setting.about.holds != "keys"  # their actions are in the list themselves
    )
    return (*sections, *settings)


def _command_entry(command: Declaration) -> PaletteEntry:
    return PaletteEntry(kind="command", key=command.name, title=f"/{command.name}", group=core_words(command.summary))


def _session_entries(sessions: Mapping[SessionId, SessionSummary], workspace: Path | None) -> tuple[PaletteEntry, ...]:
    here = str(workspace.resolve()) if workspace is not None else ""
    listed = [each for each in sessions.values() if each.is_listed and not each.is_archived and each.title]
    listed.sort(key=lambda each: (each.workspace == here, each.active_at), reverse=True)
    return tuple(
        PaletteEntry(kind="session", key=each.id, title=named(each.title), group=named(Path(each.workspace).name))
        for each in listed
    )
