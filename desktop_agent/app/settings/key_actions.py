"""What the settings dialog does with keys: keep, remove and check them, and show where the one in use comes from."""

import asyncio
from collections.abc import Callable

from msgspec.structs import replace
from PySide6.QtCore import QObject

from desktop_agent.app.background_tasks import Try
from desktop_agent.app.connecting.listing import models_at
from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.base.errors import AgentError, CredentialsError
from desktop_agent.core.models.account import Account, usual_account
from desktop_agent.core.models.vendors import DEMO, vendor_of
from desktop_agent.core.providers.auth.keys import ResolvedKey, beside, entry_of, resolve_key
from desktop_agent.ui.runtime.eventloop import idle
from desktop_agent.ui.settings.account_credentials import KeyEditor, KeyStatus


class KeyActions(QObject):
    """Carries them out. Each may take long, because a keyring may ask the user first; none blocks the window."""

    def __init__(self, bench: Workbench, try_: Try, parent: QObject, *, changed: Callable[[], None]) -> None:
        """`changed` is called when an account has become another one by its key."""
        super().__init__(parent)
        self._bench = bench
        self._keys = bench.keys
        self._try = try_
        self._changed = changed
        self.editor: KeyEditor | None = None
        """Where results are shown, while the dialog is open."""

    def show_status(self, account: Account) -> None:
        """Show where the key of an account comes from, or why there is none, as soon as that is known."""
        self._try(self._show_status(account))

    def save(self, account: Account, key: str) -> None:
        """Keep a key in the keyring, or for this run where there is none."""
        self._try(self._save(account, key))

    def remove(self, account: Account) -> None:
        """Forget the key that is kept."""
        self._try(self._remove(account))

    def check(self, account: Account, key: str) -> None:
        """Ask an account's address whether a key works: this one, or the one in use if it is empty."""
        self._try(self._check(account, key))

    async def has_key(self) -> bool:
        """Whether new conversations could ask their model right now."""
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
        """Ask an account's address whether a key works: the typed one, else the one in use."""
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
        """Return where this account's key is shown, if it still is."""
        return self.editor if self.editor is not None and self.editor.account == account else None

    def _show_busy(self, account: Account, message: str) -> None:
        if (editor := self._editor_of(account)) is not None:
            editor.show_busy(message)

    def _show_result(self, account: Account, *, is_good: bool, message: str) -> None:
        if (editor := self._editor_of(account)) is not None:
            editor.show_result(message, is_good=is_good)
