"""Actions on plugins in the settings: show, fetch to look at, add, update, allow again, and remove."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace

from desktop_agent.app.controller import Controller, OneAtATime, WindowContext, in_background
from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.base.ids import Digest
from desktop_agent.core.extensions.plugin_store import (
    OF_PROJECTS,
    Plugins,
    PluginStore,
    StagedPlugin,
    StandingPlugin,
)
from desktop_agent.core.extensions.plugins import Plugin
from desktop_agent.core.settings.workspace_settings import WorkspaceSettings
from desktop_agent.ui.settings.plugins_page import PluginsPage
from desktop_agent.ui.settings.settings_view import PluginActions, PluginView, StagedPluginView
from desktop_agent.ui.translation import error_words


class PluginControl(Controller):
    def __init__(
        self, context: WindowContext, *, fail: Callable[[AgentError], None], changed: Callable[[], None]
    ) -> None:
        """`changed` is called when other pages may be out of date."""
        super().__init__(context)
        self._fail = fail
        self._changed = changed
        self._project: WorkspaceSettings | None = None
        self._page: PluginsPage | None = None
        self._staged: StagedPlugin | None = None
        self._staging = OneAtATime(self._launch, self._show_problem)
        self.actions = PluginActions(
            look=in_background(self._launch, self._look),
            stage=in_background(self._staging.begin, self._stage),
            add=in_background(self._launch, self._add),
            discard=self._discard,
            renew=in_background(self._launch, self._renew),
            remove=in_background(self._launch, self._remove),
        )

    def follow(self, project: WorkspaceSettings | None) -> None:
        self._project = project

    def begin(self, page: PluginsPage) -> None:
        self._page = page

    def end(self) -> None:
        self._page = None
        self._discard()

    @property
    def _root(self) -> Path:
        return self._project.root if self._project is not None else self._bench.paths.plugins

    @property
    def _plugins(self) -> Plugins:
        return self._bench.plugins_in(self._root)

    @property
    def _store(self) -> PluginStore:
        return self._plugins.store

    async def _look(self) -> None:
        plugins = await asyncio.to_thread(self._view)
        if self._page is not None:
            self._page.show_plugins(plugins)

    def _view(self) -> tuple[PluginView, ...]:
        return tuple(map(_standing_view, self._plugins.look()))

    async def _stage(self, source: str, inside: str) -> None:
        self._drop_staged()
        staged = await self._store.stage(source, inside)
        if self._page is None:
            await asyncio.to_thread(self._store.discard, staged)
            return
        self._staged = staged
        view = await asyncio.to_thread(_view_of, staged.plugin, str(staged.folder))
        left_out, is_update = staged.left_out, bool(staged.replaces)
        shown = StagedPluginView(plugin=view, left_out=left_out, is_update=is_update, is_current=staged.is_current)
        self._page.show_staged(shown)

    def _show_problem(self, error: AgentError) -> None:
        if self._page is not None:
            self._page.show_staged(StagedPluginView(problem=error_words(error)))

    async def _add(self) -> None:
        staged, self._staged = self._staged, None
        if staged is None:
            return
        try:
            await asyncio.to_thread(self._store.add, staged)
        except AgentError as error:
            self._fail(error)
        finally:
            await asyncio.to_thread(self._store.discard, staged)
        await self._show_all()

    def _discard(self) -> None:
        self._staging.cancel()
        self._drop_staged()

    def _drop_staged(self) -> None:
        staged, self._staged = self._staged, None
        if staged is not None:
            self._launch(asyncio.to_thread(self._store.discard, staged))

    async def _renew(self, name: str, digest: Digest) -> None:
        await self._carry_out(lambda: self._store.renew(name, digest))

    async def _remove(self, name: str) -> None:
        await self._carry_out(lambda: self._store.remove(name))
        off = self._bench.settings.plugins.off
        if name in off:  # another one of this name is not the same
            await self._bench.live.change("plugins.off", [other for other in off if other != name])

    async def _carry_out(self, work: Callable[[], object]) -> None:
        try:
            await asyncio.to_thread(work)
        except AgentError as error:
            self._fail(error)
        await self._show_all()

    async def _show_all(self) -> None:
        if self._project is not None:
            await self._project.refresh()
        self._changed()
        await self._look()


def _standing_view(one: StandingPlugin) -> PluginView:
    """Return what the page shows of a plugin. Blocks."""
    record = one.record
    view = PluginView(name=str(one.root), title=one.name) if one.plugin is None else _view_of(one.plugin, str(one.root))
    place = OF_PROJECTS if record is None else f"{record.source} {record.inside}".strip()
    return replace(
        view,
        place=place,
        source=record.source if record is not None else "",
        inside=record.inside if record is not None else "",
        detail=f"{place} {record.commit}".strip() if record is not None else str(one.root),
        state=one.state,
        reason=one.reason,
        digest=one.digest,
        is_mine=record is not None,
    )


def _view_of(plugin: Plugin, name: str) -> PluginView:
    brought = plugin.brought
    return PluginView(
        name=name,
        title=plugin.name,
        version=plugin.version,
        about=plugin.description,
        skills=brought.skills,
        commands=brought.commands,
        agents=brought.agents,
        unconfined=plugin.unconfined,
        confined=plugin.confined,
        problems=plugin.problem_lines,
    )
