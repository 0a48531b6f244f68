"""What the settings dialog does with accounts: add and remove them, keep and check their keys, and sign in."""

import asyncio
from collections.abc import Callable, Coroutine

from msgspec.structs import replace
from PySide6.QtCore import QObject

from desktop_agent.app.background_tasks import Try
from desktop_agent.app.connections import WindowBrowser, models_at, signed_in
from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.base.errors import AgentError, CredentialsError
from desktop_agent.core.models.account import Account, is_same_name, named, usual_account
from desktop_agent.core.models.vendors import DEMO, SignInWay, vendor_of
from desktop_agent.core.providers.auth.keys import ResolvedKey, beside, entry_of, resolve_key
from desktop_agent.ui.runtime.eventloop import idle
from desktop_agent.ui.settings.account_credentials import KeyEditor, KeyStatus, SignInPanel
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
        super().__init__(parent)
        self._live = bench.live
        self._file = bench.accounts
        self._sign_ins = bench.sign_ins
        self._try = try_
        self._show = show
        self._fail = fail

    def refresh(self) -> None:
        self._try(self._refresh())

    def add(self, account: Account) -> None:
        self._try(self._add(account))

    def remove(self, account: Account) -> None:
        self._try(self._remove(account))

    async def _refresh(self) -> None:
        loaded = await asyncio.to_thread(self._file.load)
        problem = self.tr("No account can be used until this is fixed: {0}").format(
            "; ".join(map(str, loaded.problems))
        )
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


class KeyActions(QObject):
    """Carries them out. Each may take long, because a keyring may ask the user first; none blocks the window."""

    def __init__(self, bench: Workbench, try_: Try, parent: QObject, *, changed: Callable[[], None]) -> None:
        super().__init__(parent)
        self._bench = bench
        self._keys = bench.keys
        self._try = try_
        self._changed = changed
        self.editor: KeyEditor | None = None

    def show_status(self, account: Account) -> None:
        self._try(self._show_status(account))

    def save(self, account: Account, key: str) -> None:
        self._try(self._save(account, key))

    def remove(self, account: Account) -> None:
        self._try(self._remove(account))

    def check(self, account: Account, key: str) -> None:
        """Ask an account's address whether a key works: this one, or the one in use if it is empty."""
        self._try(self._check(account, key))

    async def has_key(self) -> bool:
        model = self._bench.default_model()
        if model.provider == DEMO:
            return True
        try:
            account = (await asyncio.to_thread(self._bench.accounts.load)).of_model(model)
            return account.kind != "key" or (await self._resolve(account)).value is not None
        except AgentError:
            return False

    async def _save(self, account: Account, key: str) -> None:
        self._show_busy(account, self.tr("Saving the key…"))
        try:
            await beside(lambda: self._keys.set(entry_of(account), key))
        except CredentialsError as error:
            self._keys.keep_for_now(entry_of(account), key)
            message = self.tr("{0} The key is kept for this run only.").format(error.title)
            self._show_result(account, is_good=False, message=message)
        else:
            self._show_result(account, is_good=True, message=self.tr("The key is kept in the system keyring."))
        if account.kind == "key":
            await self._show_status(account)
        else:  # a local server, which needs none
            await asyncio.to_thread(self._bench.accounts.put, replace(account, kind="key"))
            self._changed()

    async def _remove(self, account: Account) -> None:
        self._show_busy(account, self.tr("Removing the key…"))
        try:
            await beside(lambda: self._keys.delete(entry_of(account)))
        except CredentialsError as error:
            self._show_result(account, is_good=False, message=str(error))
        else:
            self._show_result(account, is_good=True, message=self.tr("The key was removed."))
        if vendor_of(account.provider).needs_key:
            await self._show_status(account)
        else:
            keyless = replace(account, kind="none")
            is_as_usual = keyless == usual_account(account.provider)
            file = self._bench.accounts
            await asyncio.to_thread(file.remove if is_as_usual else file.put, keyless)
            self._changed()

    async def _check(self, account: Account, typed: str) -> None:
        label = account.full_label
        self._show_busy(account, self.tr("Asking {0}…").format(label))
        try:
            await models_at(self._bench, account, typed)
        except AgentError as error:
            self._show_result(account, is_good=False, message=str(error))
        else:
            has_key = typed or account.kind == "key"
            message = self.tr("The key works.") if has_key else self.tr("{0} answers.").format(label)
            self._show_result(account, is_good=True, message=message)

    async def _show_status(self, account: Account) -> None:
        await idle()  # the first look imports the keyring: beside that, showing the dialog would take twice as long
        try:
            match (await self._resolve(account)).source:
                case "environment":
                    status = KeyStatus(source="environment", place=vendor_of(account.provider).key_variable)
                case "keyring":
                    status = KeyStatus(source="keyring", place=await beside(self._keys.name))
                case "run":
                    status = KeyStatus(source="run")
                case None if account.kind == "none":
                    status = KeyStatus()
                case None:  # whether one could be kept is worth trying only now
                    report = await beside(self._keys.probe)
                    status = KeyStatus(place=report.backend, problem=f"{report.problem} {report.hint}".strip())
        except CredentialsError as error:
            status = KeyStatus(problem=str(error))
        if (editor := self._editor_of(account)) is not None:
            editor.show_status(status)

    async def _resolve(self, account: Account) -> ResolvedKey:
        return await beside(lambda: resolve_key(account, self._bench.environ, self._keys))

    def _editor_of(self, account: Account) -> KeyEditor | None:
        return self.editor if self.editor is not None and self.editor.account == account else None

    def _show_busy(self, account: Account, message: str) -> None:
        if (editor := self._editor_of(account)) is not None:
            editor.show_busy(message)

    def _show_result(self, account: Account, *, is_good: bool, message: str) -> None:
        if (editor := self._editor_of(account)) is not None:
            editor.show_result(message, is_good=is_good)


class SignInActions(QObject):
    """Carries them out, one at a time. None blocks the window."""

    def __init__(self, bench: Workbench, try_: Try, parent: QObject, *, changed: Callable[[], None]) -> None:
        super().__init__(parent)
        self._bench = bench
        self._try = try_
        self._changed = changed
        self._work: asyncio.Task[object] | None = None
        self.panel: SignInPanel | None = None

    def sign_in(self, way: SignInWay, name: str) -> None:
        self._begin(self._sign_in(way, name))

    def check(self, account: Account) -> None:
        self._begin(self._check(account))

    def cancel(self) -> None:
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
