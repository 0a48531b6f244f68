"""Sign-ins with MCP servers from their cards in the settings."""

import asyncio
from collections.abc import Awaitable, Callable

from desktop_agent.app.background_tasks import Try
from desktop_agent.app.connecting.browser import WindowBrowser
from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.mcp.definition import ServerDefinition
from desktop_agent.core.providers.auth.server_sign_ins import ServerSignIns
from desktop_agent.ui.settings.settings_view import SignInProgress


class ServerSigningIn:
    """Carries them out, at most one for each server. None blocks the window."""

    def __init__(self, sign_ins: ServerSignIns, try_: Try, changed: Callable[[], None]) -> None:
        """`changed` is called whenever one has come further."""
        self._sign_ins = sign_ins
        self._try = try_
        self._changed = changed
        self._progress: dict[str, SignInProgress] = {}
        self._tasks: dict[str, asyncio.Task[object]] = {}

    def progress(self, name: str) -> SignInProgress | None:
        """Return how far the sign-in with a server is; None: none is under way."""
        return self._progress.get(name)

    def begin(
        self, definition: ServerDefinition, done: Callable[[], Awaitable[None]], fail: Callable[[AgentError], None]
    ) -> None:
        """Have the user sign in, and then `done`; what goes wrong is shown by `fail`."""
        if definition.name not in self._progress:
            self._show(definition.name, SignInProgress())
            self._try(self._carry_out(definition, done, fail))

    def cancel(self, name: str) -> None:
        """Give up the sign-in with a server, if one is under way."""
        if (task := self._tasks.get(name)) is not None:
            task.cancel()

    async def _carry_out(
        self, definition: ServerDefinition, done: Callable[[], Awaitable[None]], fail: Callable[[AgentError], None]
    ) -> None:
        name, task = definition.name, asyncio.current_task()
        assert task is not None
        self._tasks[name] = task

        def show(address: str, is_open: bool) -> None:
            self._show(name, SignInProgress(address=address, is_open=is_open))

        try:
            await self._sign_ins.sign_in(definition, WindowBrowser(show))
        except AgentError as error:
            fail(error)
            return
        finally:
            del self._tasks[name]
            self._show(name, None)
        await done()

    def _show(self, name: str, progress: SignInProgress | None) -> None:
        if progress is None:
            self._progress.pop(name, None)
        else:
            self._progress[name] = progress
        self._changed()
