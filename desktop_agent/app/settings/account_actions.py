"""What the settings dialog does with accounts: add, remove, and show them."""

import asyncio
from collections.abc import Callable

from PySide6.QtCore import QObject

from desktop_agent.app.background_tasks import Try
from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.models.account import Account, is_same_name, named
from desktop_agent.ui.settings.settings_view import AccountsView


class AccountActions(QObject):
    """Carries them out. None blocks the window."""

    def __init__(
        self,
        bench: Workbench,
        try_: Try,
        parent: QObject,
        *,
        show: Callable[[AccountsView], None],
        fail: Callable[[AgentError], None],
    ) -> None:
        """`show` and `fail` show the accounts, and what could not be done, where the user is."""
        super().__init__(parent)
        self._live = bench.live
        self._file = bench.accounts
        self._sign_ins = bench.sign_ins
        self._try = try_
        self._show = show
        self._fail = fail

    def refresh(self) -> None:
        """Show the accounts as the file has them."""
        self._try(self._refresh())

    def add(self, account: Account) -> None:
        """Add an account, and let new conversations be by it."""
        self._try(self._add(account))

    def remove(self, account: Account) -> None:
        """Take an account out, with its key, or with what its sign-in brought."""
        self._try(self._remove(account))

    async def _refresh(self) -> None:
        loaded = await asyncio.to_thread(self._file.load)
        problem = self.tr("No account is used until this is mended: {0}").format("; ".join(map(str, loaded.problems)))
        self._show(AccountsView(added=loaded.added, is_known=True, problem=problem if loaded.problems else ""))

    async def _add(self, account: Account) -> None:
        try:
            await asyncio.to_thread(self._file.put, account)
            await self._refresh()
            await self._live.change("model.account", account.name)
        except AgentError as error:
            self._fail(error)

    async def _remove(self, account: Account) -> None:
        try:
            await self._sign_ins.sign_out(account)
            chosen = self._live.current.model
            if chosen.provider == account.provider and is_same_name(named(chosen.account), account.name):
                await self._live.reset("model.account")
        except AgentError as error:
            self._fail(error)
        await self._refresh()
