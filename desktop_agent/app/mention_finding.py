"""Finds completions for a typed `@` in the background: files, sessions, resources and symbols."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from msgspec import Struct
from PySide6.QtCore import QObject

from desktop_agent.app.controller import Controller, LatestQuestion, Launch, WindowContext, in_background
from desktop_agent.app.navigator import Navigator
from desktop_agent.app.shown_folder import FolderFiles
from desktop_agent.core.base.clock import Clock, SystemClock
from desktop_agent.core.base.errors import ServerError, ToolError, WorkspaceError
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.mentions.mention_grammar import TypedMention
from desktop_agent.core.mentions.offers import (
    FolderPaths,
    MentionOffer,
    MentionSources,
    OfferedSession,
    completed,
    offers_for,
    part_typed,
)
from desktop_agent.core.mentions.symbol_search import name_typed, search_symbols, symbol_offers, with_name
from desktop_agent.core.policy.boundary import Boundary
from desktop_agent.core.protocol.model import SessionSummary
from desktop_agent.core.search.symbols import FoundSymbol
from desktop_agent.core.system.environment import child_environment
from desktop_agent.core.system.processes.runner import ProcessRunner
from desktop_agent.core.system.session_bus import FileQuestion
from desktop_agent.core.tools.files.ripgrep import SearchGround
from desktop_agent.ui.chat.composer.field_offers import MentionOffers
from desktop_agent.ui.widgets.file_chooser import choose_files

_PAUSE_S = 0.1

_SHOWN_EVERY_S = 0.15
_FRESH_S = 5.0


class _Found(Struct, frozen=True):
    workspace: Path
    name: str
    symbols: "tuple[FoundSymbol, ...]"
    is_whole: bool
    at_s: float


class SymbolFinding(QObject):
    """Finds symbols for the composer, one search at a time. A new question or leaving the mention cancels it."""

    def __init__(
        self,
        mentions: MentionOffers,
        folder: Callable[[], Path | None],
        environ: Mapping[str, str],
        clock: Clock,
        launch: Launch,
    ) -> None:
        super().__init__(mentions)
        self._mentions = mentions
        self._folder = folder
        self._environ = environ
        self._clock = clock
        self._launch = launch
        self._asked = 0
        self._task: asyncio.Task[object] | None = None
        self._known: _Found | None = None
        mentions.wanted.connect(self._on_wanted)
        mentions.left.connect(self._stop)

    def look_again(self) -> None:
        self._stop()
        self._known = None
        if (typed := self._mentions.typed) is not None:
            self._on_wanted(typed)

    def _on_wanted(self, typed: TypedMention) -> None:
        self._stop()
        name, workspace = name_typed(typed), self._folder()
        if name and workspace is not None:
            self._launch(self._answer(self._asked, typed, name, workspace))

    def _stop(self) -> None:
        self._asked += 1
        if self._task is not None:
            self._task.cancel()
            self._task = None

    async def _answer(self, asked: int, typed: TypedMention, name: str, workspace: Path) -> None:
        if asked != self._asked:
            return
        self._task = asyncio.current_task()
        known, earlier = self._known, list[FoundSymbol]()
        if known is not None and self._is_about(known, name, workspace):
            earlier, offers = await asyncio.to_thread(_narrowed, known.symbols, name)
            self._mentions.show_symbols(typed, offers)
            if known.is_whole:
                return
        await self._clock.sleep(_PAUSE_S)
        with suppress(ToolError, OSError):  # without ripgrep, or in a removed folder, there are no symbols
            await self._search(typed, name, workspace, earlier)

    def _is_about(self, known: _Found, name: str, workspace: Path) -> bool:
        is_fresh = self._clock.monotonic() - known.at_s < _FRESH_S
        return is_fresh and known.workspace == workspace and name.casefold().startswith(known.name.casefold())

    async def _search(self, typed: TypedMention, name: str, workspace: Path, earlier: Sequence[FoundSymbol]) -> None:
        """Show symbols while they are found. Until the search is complete, also show the `earlier` symbols."""
        found: list[FoundSymbol] = []
        begun = self._clock.monotonic()
        shown_at = begun - _SHOWN_EVERY_S

        async def show(symbols: Sequence[FoundSymbol]) -> None:
            _, offers = await asyncio.to_thread(_narrowed, symbols, name)
            self._mentions.show_symbols(typed, offers)

        async def add(symbols: Sequence[FoundSymbol]) -> None:
            nonlocal shown_at
            found.extend(symbols)
            known = (*found, *earlier)
            self._known = _Found(workspace, name, known, is_whole=False, at_s=begun)
            if symbols and self._clock.monotonic() - shown_at >= _SHOWN_EVERY_S:
                await show(known)
                shown_at = self._clock.monotonic()

        async with _ground(workspace, self._environ) as ground:
            is_whole = await search_symbols(name, ground, add)
            known = tuple(found) if is_whole else (*found, *earlier)
            await show(known)
        self._known = _Found(workspace, name, known, is_whole=is_whole, at_s=begun)


@asynccontextmanager
async def _ground(workspace: Path, environ: Mapping[str, str]) -> AsyncGenerator[SearchGround]:
    processes = ProcessRunner(SystemClock())
    try:
        yield SearchGround(await asyncio.to_thread(Boundary, workspace), processes, child_environment(environ))
    finally:
        await processes.aclose()


def _narrowed(symbols: Sequence[FoundSymbol], name: str) -> tuple[list[FoundSymbol], tuple[MentionOffer, ...]]:
    fitting = with_name(tuple(dict.fromkeys(symbols)), name)
    return fitting, symbol_offers(fitting, name)


class MentionFinding(Controller):
    def __init__(
        self,
        context: WindowContext,
        navigator: Navigator,
        files: FolderFiles,
        sessions: Callable[[], Mapping[SessionId, SessionSummary]],
    ) -> None:
        super().__init__(context)
        panels, environ = self._panels, self._bench.environ
        self._mentions = panels.composer.mentions
        self._navigator = navigator
        self._files = files
        self._sessions = sessions
        self._questions = LatestQuestion(self._answer, self._launch)
        self._mentioning = asyncio.Lock()
        self._symbols = SymbolFinding(self._mentions, self._searched_folder, environ, SystemClock(), self._launch)
        panels.composer.attach.clicked.connect(self._choose_files)
        self._mentions.wanted.connect(self._questions.ask)
        panels.composer.edit.files_given.connect(in_background(self._launch, self._mention))
        panels.files.file_actions.mention_requested.connect(self._mentions.insert)
        files.listed.connect(self._on_listed)
        navigator.workspace_changed.connect(self._on_workspace_changed)

    def _on_workspace_changed(self, _root: Path) -> None:
        self._mentions.set_known(lambda _path: False, frozenset())
        self._symbols.look_again()
        if (typed := self._mentions.typed) is not None:
            self._questions.ask(typed)

    def _searched_folder(self) -> Path | None:
        workspace, typed = self._navigator.workspace, self._mentions.typed
        if workspace is None or typed is None:
            return None
        servers = self._bench.shared_tools.servers.connections(workspace)
        return None if any(each.definition.name == typed.source for each in servers) else workspace

    def _choose_files(self) -> None:
        if (workspace := self._navigator.workspace) is None:
            return
        question = FileQuestion(kind="files", title=self.tr("Mention files"), folder=str(workspace))
        choose_files(self._panels.window, question, lambda chosen: self._launch(self._mention(chosen.paths)))

    async def _mention(self, files: Sequence[str]) -> None:
        """Mention these files in the field. Raises `WorkspaceError` for files outside the folder."""
        if (workspace := self._navigator.workspace) is None:
            return
        async with self._mentioning:  # files dropped one after another keep their order
            for path in await asyncio.to_thread(_below, workspace, files):
                self._mentions.insert(path)

    async def _answer(self, typed: TypedMention) -> None:
        workspace = self._navigator.workspace
        if workspace is None:
            return
        paths = await self._files.latest()
        if self._questions.is_waiting or paths is None:
            return  # the user is typing something else by now
        offers = await self._completions(workspace, typed) or await asyncio.to_thread(
            offers_for, typed, self._sources(workspace, paths)
        )
        self._mentions.show(typed, offers)

    def _on_listed(self, paths: FolderPaths, is_changed: bool) -> None:
        if (workspace := self._navigator.workspace) is None:
            return
        servers = self._bench.shared_tools.servers.connections(workspace)
        self._mentions.set_known(paths.has, frozenset(connection.definition.name for connection in servers))
        if is_changed and (typed := self._mentions.typed) is not None:
            self._questions.ask(typed)

    def _sources(self, workspace: Path, paths: FolderPaths) -> MentionSources:
        here = str(workspace.resolve())
        listed = [summary for summary in self._sessions().values() if summary.is_listed and not summary.is_archived]
        listed.sort(key=lambda summary: (summary.workspace == here, summary.active_at), reverse=True)
        servers = self._bench.shared_tools.servers.connections(workspace)
        return MentionSources(
            paths=paths,
            sessions=tuple(OfferedSession(each.id, each.title, Path(each.workspace).name) for each in listed),
            servers=tuple(connection.status for connection in servers),
        )

    async def _completions(self, workspace: Path, typed: TypedMention) -> tuple[MentionOffer, ...]:
        """Return a server's completions, if the typed text is a part of one of its resource templates."""
        connections = self._bench.shared_tools.servers.connections(workspace)
        server = next((each for each in connections if typed.source and each.definition.name == typed.source), None)
        if server is None or server.status.facts is None or not server.status.facts.has_completions:
            return ()
        part = part_typed(typed.target, server.status.templates)
        if part is None or server.status.state != "ready":
            return ()
        try:
            values = await server.complete(part.template, part.name, part.value, dict(part.others))
        except ServerError:
            return ()  # the user types on; sending the message reports whether it can be fetched
        return completed(typed.source, part, values)


def _below(workspace: Path, files: Sequence[str]) -> list[str]:
    """Return the files' relative paths, folders with a slash. Blocks. Raises `WorkspaceError` for a file outside."""
    root = workspace.resolve()
    found: list[str] = []
    for file in files:
        path = Path(file)
        place = path.parent.resolve() / path.name
        if not place.is_relative_to(root) or place == root:
            raise WorkspaceError(
                f"{path.name} is outside of the folder, so it was not mentioned.",
                hint="Copy it into the folder, or open its own folder.",
            )
        found.append(place.relative_to(root).as_posix() + ("/" if place.is_dir() else ""))
    return found
