"""What the settings dialog does with accounts: add and remove them, keep and check their keys, and sign in."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec.structs import replace

from desktop_agent.app.connections import WindowBrowser, keep_key, key_of, models_at, signed_in
from desktop_agent.app.controller import Controller, OneAtATime, WindowContext, in_background
from desktop_agent.core.base.errors import AgentError, CredentialsError
from desktop_agent.core.models.account import Account, is_same_name, named, usual_account
from desktop_agent.core.models.vendors import SignInWay, vendor_of
from desktop_agent.core.providers.auth.keys import entry_of, in_daemon_thread
from desktop_agent.ui.runtime.eventloop import idle
from desktop_agent.ui.settings.accounts import KeyEditor, KeyStatus
from desktop_agent.ui.settings.settings_view import AccountsView

if TYPE_CHECKING:
    from desktop_agent.ui.settings.settings_dialog import SettingsDialog


class AccountActions(Controller):
    """Manages accounts, and shows the results while the dialog is open.

    Nothing blocks the window: a keyring may ask the user first.
    """

    def __init__(self, context: WindowContext, fail: Callable[[AgentError], None]) -> None:
        super().__init__(context)
        self._fail = fail
        self._sign_in_work = OneAtATime(self._launch, self._show_sign_in_failure)
        self.dialog: SettingsDialog | None = None
        self.sign_in = in_background(self._sign_in_work.begin, self._sign_in)
        """Sign in by a way and under a name, and use the account for new conversations if they use its provider."""
        self.check_sign_in = in_background(self._sign_in_work.begin, self._check_sign_in)

    # --- accounts -------------------------------------------------------------------------------------------------

    async def refresh(self) -> None:
        loaded = await asyncio.to_thread(self._bench.accounts.load)
        problem = self.tr("No account can be used until this is fixed: {0}").format(
            "; ".join(map(str, loaded.problems))
        )
        if self.dialog is not None:
            shown = AccountsView(added=loaded.added, is_known=True, problem=problem if loaded.problems else "")
            self.dialog.model.show_accounts(shown)

    async def add(self, account: Account) -> None:
        try:
            await asyncio.to_thread(self._bench.accounts.put, account)
            await self.refresh()
            await self._bench.live.change("model.account", account.name)
        except AgentError as error:
            self._fail(error)

    async def remove(self, account: Account) -> None:
        """Remove an account, with its key or its sign-in."""
        try:
            await self._bench.sign_ins.sign_out(account)
            chosen = self._bench.live.current.model
            if chosen.provider == account.provider and is_same_name(named(chosen.account), account.name):
                await self._bench.live.reset("model.account")
        except AgentError as error:
            self._fail(error)
        await self.refresh()

    # --- keys -----------------------------------------------------------------------------------------------------

    async def save_key(self, account: Account, key: str) -> None:
        self._show_busy(account, self.tr("Saving the key…"))
        if problem := await keep_key(self._bench, account, key):
            self._show_result(account, problem, is_good=False)
        else:
            self._show_result(account, self.tr("The key is kept in the system keyring."), is_good=True)
        if account.kind == "key":
            await self.show_key(account)
        else:  # a local server, which needs none
            await asyncio.to_thread(self._bench.accounts.put, replace(account, kind="key"))
            await self.refresh()

    async def remove_key(self, account: Account) -> None:
        self._show_busy(account, self.tr("Removing the key…"))
        try:
            await in_daemon_thread(lambda: self._bench.keys.delete(entry_of(account)))
        except CredentialsError as error:
            self._show_result(account, str(error), is_good=False)
        else:
            self._show_result(account, self.tr("The key was removed."), is_good=True)
        if vendor_of(account.provider).needs_key:
            await self.show_key(account)
            return
        keyless = replace(account, kind="none")
        is_as_usual = keyless == usual_account(account.provider)
        file = self._bench.accounts
        await asyncio.to_thread(file.remove if is_as_usual else file.put, keyless)
        await self.refresh()

    async def check_key(self, account: Account, typed: str) -> None:
        """Test the typed key, or the one in use if it is empty."""
        label = account.full_label
        self._show_busy(account, self.tr("Asking {0}…").format(label))
        try:
            await models_at(self._bench, account, typed)
        except AgentError as error:
            self._show_result(account, str(error), is_good=False)
        else:
            has_key = typed or account.kind == "key"
            words = self.tr("The key works.") if has_key else self.tr("{0} answers.").format(label)
            self._show_result(account, words, is_good=True)

    async def show_key(self, account: Account) -> None:
        """Show where the key of an account comes from, or why there is none."""
        await idle()  # the first look imports the keyring: beside that, showing the dialog would take twice as long
        keys = self._bench.keys
        try:
            match (await key_of(self._bench, account)).source:
                case "environment":
                    status = KeyStatus(source="environment", place=vendor_of(account.provider).key_variable)
                case "keyring":
                    status = KeyStatus(source="keyring", place=await in_daemon_thread(keys.name))
                case "run":
                    status = KeyStatus(source="run")
                case None if account.kind == "none":
                    status = KeyStatus()
                case None:  # whether one could be kept is worth trying only now
                    report = await in_daemon_thread(keys.probe)
                    status = KeyStatus(place=report.backend, problem=f"{report.problem} {report.hint}".strip())
        except CredentialsError as error:
            status = KeyStatus(problem=str(error))
        if (editor := self._editor_of(account)) is not None:
            editor.show_status(status)

    def _editor_of(self, account: Account) -> KeyEditor | None:
        return self.dialog.key if self.dialog is not None and self.dialog.key.account == account else None

    def _show_busy(self, account: Account, words: str) -> None:
        if (editor := self._editor_of(account)) is not None:
            editor.show_busy(words)

    def _show_result(self, account: Account, words: str, *, is_good: bool) -> None:
        if (editor := self._editor_of(account)) is not None:
            editor.show_result(words, is_good=is_good)

    # --- sign-ins -------------------------------------------------------------------------------------------------

    def cancel_sign_in(self) -> None:
        self._sign_in_work.cancel()

    async def _sign_in(self, way: SignInWay, name: str) -> None:
        self._show_sign_in(self.tr("Preparing the sign-in…"))
        account = await signed_in(self._bench, way, name, WindowBrowser(self._show_waiting))
        live = self._bench.live
        chosen = live.current.model
        if chosen.provider == account.provider and not is_same_name(named(chosen.account), account.name):
            if account.name:
                await live.change("model.account", account.name)
            else:
                await live.reset("model.account")
        await self.refresh()
        await self._check_sign_in(account)

    async def _check_sign_in(self, account: Account) -> None:
        self._show_sign_in(self.tr("Asking {0}…").format(account.full_label))
        await models_at(self._bench, account)
        if self.dialog is not None:
            words = self.tr("You are signed in, and {0} answers.").format(account.full_label)
            self.dialog.sign_in.show_result(words, is_good=True)

    def _show_sign_in(self, words: str) -> None:
        if self.dialog is not None:
            self.dialog.sign_in.show_busy(words)

    def _show_waiting(self, address: str, is_open: bool) -> None:
        if self.dialog is not None:
            self.dialog.sign_in.show_waiting(address, is_open=is_open)

    def _show_sign_in_failure(self, error: AgentError) -> None:
        if self.dialog is not None:
            self.dialog.sign_in.show_result(str(error), is_good=False)
