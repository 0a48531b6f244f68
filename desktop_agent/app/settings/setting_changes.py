"""What the settings dialog changes: one setting after another, each written down before the next."""

import asyncio
from collections.abc import Awaitable, Callable

from desktop_agent.app.background_tasks import Try
from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.models.vendors import DEMO
from desktop_agent.core.settings.live_settings import LiveSettings, SettingChange
from desktop_agent.core.settings.model_choice import left_behind


class SettingChanges:
    """Carries them out. None blocks the window."""

    def __init__(
        self,
        live: LiveSettings,
        try_: Try,
        *,
        done: Callable[[SettingChange], None],
        fail: Callable[[AgentError], None],
    ) -> None:
        """`done` and `fail` show what was changed, and what could not be, where the user is."""
        self._live = live
        self._try = try_
        self._done = done
        self._fail = fail
        self._saving = asyncio.Lock()
        self._asked = live.current.model.provider
        """The provider that was asked last, before the demo if that is chosen."""
        live.subscribe(self._note_provider)

    def change(self, key: str, value: object) -> None:
        """Give a setting another value; another provider comes without what belonged to the one before."""
        if key == "model.provider":
            self._try(self._save(lambda: self._change_provider(str(value))))
        else:
            self._try(self._save(lambda: self._live.change(key, value)))

    def reset(self, key: str) -> None:
        """Give a setting its default again."""
        self._try(self._save(lambda: self._live.reset(key)))

    def _note_provider(self) -> None:
        if (provider := self._live.current.model.provider) != DEMO:
            self._asked = provider

    async def _change_provider(self, provider: str) -> SettingChange:
        """Choose another provider, without the address, account and model of the one before."""
        if provider != self._asked:
            for key in left_behind(self._live.loaded, provider):
                await self._live.reset(key)
        return await self._live.change("model.provider", provider)

    async def _save(self, carry_out: Callable[[], Awaitable[SettingChange]]) -> None:
        async with self._saving:
            try:
                change = await carry_out()
            except AgentError as error:
                self._fail(error)
                return
        self._done(change)
