"""What the window shows when it starts: what the command line names, else what was open last, else the welcome."""

import asyncio
import os
from pathlib import Path

from desktop_agent.app.background_tasks import Try
from desktop_agent.app.navigator import Navigator
from desktop_agent.app.settings.key_actions import KeyActions
from desktop_agent.app.startup.arguments import NEWEST, WindowArguments
from desktop_agent.app.ways_to_begin import WaysToBegin
from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.base.errors import WorkspaceError
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.protocol.model import ModelRef
from desktop_agent.core.system.workspace import current_folder


class FirstView:
    """Chooses it."""

    def __init__(
        self,
        navigator: Navigator,
        arguments: WindowArguments,
        bench: Workbench,
        keys: KeyActions,
        ways: WaysToBegin,
        try_: Try,
    ) -> None:
        self._navigator = navigator
        self._arguments = arguments
        self._bench = bench
        self._keys = keys
        self._ways = ways
        self._try = try_

    async def show(self) -> None:
        """Show it. Raises `AgentError` for what cannot be opened."""
        if self._arguments.is_demo:
            await self._navigator.show_demo()
        elif self._arguments.resume is not None:
            await self._resume(self._arguments.resume)
        elif self._arguments.workspace is not None:
            await self._navigator.show_folder(self._arguments.workspace)
        else:
            await self._show_last_or_welcome()

    async def _resume(self, wanted: str) -> None:
        if wanted != NEWEST:
            await self._navigator.show_session(await asyncio.to_thread(self._bench.catalog.find, wanted))
            return
        folder = self._arguments.workspace or await asyncio.to_thread(current_folder)
        latest = await asyncio.to_thread(self._bench.catalog.latest, folder)
        if latest is not None:
            await self._navigator.show_session(latest)
        else:
            await self._navigator.show_folder(folder)

    async def _show_last_or_welcome(self) -> None:
        last = await asyncio.to_thread(_last_usable, self._bench)
        if last is not None:
            await self._navigator.show_session(last)
        elif (folder := await asyncio.to_thread(_plausible_folder)) is not None:
            await self._navigator.show_folder(folder)
        if last is None:  # beside the start: a keyring may wait for the user
            self._try(self._welcome_without_key())

    async def _welcome_without_key(self) -> None:
        if not await self._keys.has_key():
            self._ways.welcome()


def _plausible_folder() -> Path | None:
    """The folder the application was started in, if that looks like a project and not like a desktop's default."""
    try:
        folder = current_folder()
    except WorkspaceError:
        return None
    return None if folder in (Path.home(), Path(folder.anchor)) else folder


def _last_usable(bench: Workbench) -> SessionId | None:
    """The session last used whose folder is still there."""
    found = (item for item in bench.catalog.summaries() if item.workspace and item.is_listed)
    return next((item.id for item in found if os.path.isdir(item.workspace)), None)  # noqa: PTH112 - Path's raises


def model_of(arguments: WindowArguments, default: ModelRef) -> ModelRef:
    """Return the model of the command line, else the `default` of the settings."""
    provider = arguments.provider or default.provider
    is_default = provider == default.provider
    return ModelRef(
        provider=provider,
        model=arguments.model or (default.model if is_default else provider),
        base_url=arguments.base_url or (default.base_url if is_default else None),
    )
