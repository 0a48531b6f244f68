"""The settings for `/config`: shown as they are in force, changed as a settings dialog changes them."""

from collections.abc import Sequence

from desktop_agent.core.live_settings import LiveSettings
from desktop_agent.core.settings import read_value, setting_values, shown_value


class LiveConfig:
    """What `/config` works with; see `ConfigWriter`."""

    def __init__(self, live: LiveSettings) -> None:
        self._live = live

    def values(self) -> Sequence[tuple[str, str]]:
        """Every setting with the value in force; one without a value is left out."""
        values = setting_values(self._live.current)
        return tuple((key, shown_value(value)) for key, value in values.items() if value is not None)

    async def change(self, key: str, value: str) -> str:
        """Check, save and apply a setting; return what to say of it. Raises `UsageError` and `StorageError`."""
        change = await self._live.change(key, read_value(value))
        if change.overridden_by is not None:
            return f"`{key}` is saved, but {change.overridden_by} goes before the settings file."
        where = f" It is in `{self._live.path}`." if self._live.path is not None else ""
        return f"`{key}` is `{shown_value(change.after) or 'not set'}` from the next step on.{where}"
