"""What the settings dialog does with sign-ins: begin one, give it up, and see whether one still works."""

import asyncio
from collections.abc import Callable, Coroutine

from PySide6.QtCore import QObject

from desktop_agent.app.background_tasks import Try
from desktop_agent.app.connecting.browser import WindowBrowser
from desktop_agent.app.connecting.listing import models_at
from desktop_agent.app.connecting.signing_in import signed_in
from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.models.account import Account, is_same_name, named
from desktop_agent.core.models.vendors import SignInWay
from desktop_agent.ui.settings.account_credentials import SignInPanel


class SignInActions(QObject):
    """Carries them out, one at a time. None blocks the window."""

    def __init__(self, bench: Workbench, try_: Try, parent: QObject, *, changed: Callable[[], None]) -> None:
        """`changed` is called when there is an account more."""
        super().__init__(parent)
        self._bench = bench
        self._try = try_
        self._changed = changed
        self._work: asyncio.Task[object] | None = None
        self.panel: SignInPanel | None = None
        """Where it is shown, while the dialog is open."""

    def sign_in(self, way: SignInWay, name: str) -> None:
        """Sign in, and let new conversations be by the account, if they are by its provider."""
        self._begin(self._sign_in(way, name))

    def check(self, account: Account) -> None:
        """See whether a sign-in still works."""
        self._begin(self._check(account))

    def cancel(self) -> None:
        """Give up what is under way."""
        if self._work is not None:
            self._work.cancel()

    def _begin(self, work: Coroutine[object, object, None]) -> None:
        self.cancel()
        self._try(self._carry_out(work))

    async def _carry_out(self, work: Coroutine[object, object, None]) -> None:
        task = self._work = asyncio.current_task()
        try:
            await work
        except AgentError as error:
            self._show_result(str(error), is_good=False)
        finally:
            if self._work is task:
                self._work = None

    async def _sign_in(self, way: SignInWay, name: str) -> None:
        self._show_busy(self.tr("Preparing the sign-in…"))
        account = await signed_in(self._bench, way, name, WindowBrowser(self._show_waiting))
        await self._choose(account)
        self._changed()
        await self._check(account)

    async def _choose(self, account: Account) -> None:
        live = self._bench.live
        chosen = live.current.model
        if chosen.provider != account.provider or is_same_name(named(chosen.account), account.name):
            return
        if account.name:
            await live.change("model.account", account.name)
        else:
            await live.reset("model.account")

    async def _check(self, account: Account) -> None:
        self._show_busy(self.tr("Asking {0}…").format(account.full_label))
        await models_at(self._bench, account)
        self._show_result(self.tr("You are signed in, and {0} answers.").format(account.full_label), is_good=True)

    def _show_busy(self, words: str) -> None:
        if self.panel is not None:
            self.panel.show_busy(words)

    def _show_waiting(self, address: str, is_open: bool) -> None:
        if self.panel is not None:
            self.panel.show_waiting(address, is_open=is_open)

    def _show_result(self, words: str, *, is_good: bool) -> None:
        if self.panel is not None:
            self.panel.show_result(words, is_good=is_good)
