"""What the settings dialog does with keys: keep, remove and check them, and show where the one in use comes from."""

from collections.abc import Mapping

from PySide6.QtCore import QObject

from desktop_agent.app.background_tasks import Try
from desktop_agent.core.base.errors import AgentError, CredentialsError
from desktop_agent.core.models.account import usual_account
from desktop_agent.core.models.vendors import vendor_of
from desktop_agent.core.providers.auth.keys import ResolvedKey, SystemKeyStore, resolve_key
from desktop_agent.core.providers.auth.patience import beside
from desktop_agent.core.providers.vendor_provider import keyed_provider
from desktop_agent.core.settings.live_settings import LiveSettings
from desktop_agent.ui.settings.key_editor import KeyEditor, KeyStatus


class KeyActions(QObject):
    """Carries them out. Each may take long, because a keyring may ask the user first; none blocks the window."""

    def __init__(
        self, live: LiveSettings, keys: SystemKeyStore, environ: Mapping[str, str], try_: Try, parent: QObject
    ) -> None:
        super().__init__(parent)
        self._live = live
        self._keys = keys
        self._environ = environ
        self._try = try_
        self.editor: KeyEditor | None = None
        """Where results are shown, while the dialog is open."""

    def show_status(self) -> None:
        """Show where the key in use comes from, or why there is none, as soon as that is known."""
        self._try(self._show_status())

    def save(self, provider: str, key: str) -> None:
        """Keep a key in the keyring, or for this run where there is none."""
        self._try(self._save(provider, key))

    def remove(self, provider: str) -> None:
        """Forget the key that is kept."""
        self._try(self._remove(provider))

    def check(self, provider: str, key: str) -> None:
        """Ask the provider whether a key works: this one, or the one in use if it is empty."""
        self._try(self._check(provider, key))

    async def has_key(self) -> bool:
        """Whether some key could be used right now."""
        try:
            return (await self._resolve("anthropic")).value is not None
        except CredentialsError:
            return False

    async def _save(self, provider: str, key: str) -> None:
        self._show_busy(self.tr("Saving the key…"))
        try:
            await beside(lambda: self._keys.set(provider, key))
        except CredentialsError as error:
            self._keys.keep_for_now(provider, key)
            message = self.tr("{0} The key is kept for this run only.").format(error.title)
            self._show_result(is_good=False, message=message)
        else:
            self._show_result(is_good=True, message=self.tr("The key is kept in the system keyring."))
        await self._show_status()

    async def _remove(self, provider: str) -> None:
        self._show_busy(self.tr("Removing the key…"))
        try:
            await beside(lambda: self._keys.delete(provider))
        except CredentialsError as error:
            self._show_result(is_good=False, message=str(error))
        else:
            self._show_result(is_good=True, message=self.tr("The key was removed."))
        await self._show_status()

    async def _check(self, provider: str, typed: str) -> None:
        """Ask the provider whether a key works: the typed one, else the one in use."""
        self._show_busy(self.tr("Asking Anthropic…"))
        try:
            key = typed or (await self._resolve(provider)).value
            if not key:
                self._show_result(is_good=False, message=self.tr("There is no key to check."))
                return
            chosen = self._live.current.model
            client = keyed_provider(
                provider,
                key,
                address=chosen.base_url or None,
                allows_readable_proxy=chosen.allow_readable_proxy,
            )
            try:
                await client.check_key()
            finally:
                await client.aclose()
        except AgentError as error:
            self._show_result(is_good=False, message=str(error))
        else:
            self._show_result(is_good=True, message=self.tr("The key works."))

    async def _show_status(self) -> None:
        provider = "anthropic"
        try:
            match (await self._resolve(provider)).source:
                case "environment":
                    status = KeyStatus(source="environment", place=vendor_of(provider).key_variable)
                case "keyring":
                    status = KeyStatus(source="keyring", place=await beside(self._keys.name))
                case "run":
                    status = KeyStatus(source="run")
                case None:  # whether one could be kept is worth trying only now
                    report = await beside(self._keys.probe)
                    status = KeyStatus(place=report.backend, problem=f"{report.problem} {report.hint}".strip())
        except CredentialsError as error:
            status = KeyStatus(problem=str(error))
        if self.editor is not None:
            self.editor.show_status(status)

    async def _resolve(self, provider: str) -> ResolvedKey:
        return await beside(lambda: resolve_key(usual_account(provider), self._environ, self._keys))

    def _show_busy(self, message: str) -> None:
        if self.editor is not None:
            self.editor.show_busy(message)

    def _show_result(self, *, is_good: bool, message: str) -> None:
        if self.editor is not None:
            self.editor.show_result(message, is_good=is_good)
