"""What the window shows when it starts: what the command line names, else what was open last, else the welcome."""

import asyncio
from pathlib import Path

from PySide6.QtWidgets import QApplication

from desktop_agent.app.background_tasks import Try
from desktop_agent.app.connections import has_key
from desktop_agent.app.navigator import Navigator, WaysToBegin
from desktop_agent.app.startup.arguments import WindowArguments
from desktop_agent.app.startup.first_sight import first_session
from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.base.errors import WorkspaceError
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.base.paths import real_path
from desktop_agent.core.settings.model_choice import NamedModel
from desktop_agent.core.system.workspace import current_folder, why_no_workspace


class FirstView:
    """Chooses it."""

    def __init__(
        self,
        navigator: Navigator,
        arguments: WindowArguments,
        bench: Workbench,
        ways: WaysToBegin,
        try_: Try,
    ) -> None:
        self._navigator = navigator
        self._arguments = arguments
        self._bench = bench
        self._ways = ways
        self._try = try_

    async def show(self, begun: SessionId | None) -> None:
        """Show it; `begun` is the session that is shown already. Raises `AgentError` for what cannot be opened."""
        session_id = begun or await asyncio.to_thread(first_session, self._bench.catalog, self._arguments)
        is_asked_for = self._arguments.resume is not None or self._arguments.workspace is not None
        if self._arguments.is_demo:
            await self._navigator.show_demo()
        elif session_id is not None:
            await self._navigator.show_session(session_id)
        elif is_asked_for:
            await self._navigator.show_folder(self._arguments.workspace or await asyncio.to_thread(current_folder))
        else:
            if (folder := await asyncio.to_thread(_plausible_folder)) is not None:
                await self._navigator.show_folder(folder)
            self._try(self._welcome_without_key())  # beside the start: a keyring may wait for the user

    async def _welcome_without_key(self) -> None:
        """Open the welcome, but not over a dialog that the user opened while the keyring was waited for."""
        if not await has_key(self._bench) and QApplication.activeModalWidget() is None:
            self._ways.welcome()


def _plausible_folder() -> Path | None:
    """The folder the application was started in, if that looks like a project and not like a desktop's default."""
    try:
        folder = current_folder()
    except WorkspaceError:
        return None
    return None if why_no_workspace(real_path(folder), "client") else folder


def model_named_by(arguments: WindowArguments) -> NamedModel:
    return NamedModel(
        provider=arguments.provider, model=arguments.model, base_url=arguments.base_url, account=arguments.account
    )
