"""The settings for `/config`: shown as they are in force, changed as a settings dialog changes them."""

from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from desktop_agent.core.settings import read_value, setting_values, shown_value
from desktop_agent.core.settings.values import value_of
from desktop_agent.core.settings.workspace_settings import WorkspaceSettings


class LiveConfig(Struct, frozen=True, eq=False):
    """What `/config` works with; see `ConfigWriter`."""

    settings_in: Callable[[Path], WorkspaceSettings]
    """Gives the settings of a folder."""

    def values(self, workspace: Path) -> Sequence[tuple[str, str]]:
        """Every setting with the value in force in this folder; one without a value is left out."""
        values = setting_values(self.settings_in(workspace).current)
        return tuple((key, shown_value(value)) for key, value in values.items() if value is not None)

    async def change(self, key: str, value: str, workspace: Path) -> str:
        """Check, save and apply a setting of the user's; return what to say of it, in this folder.

        Raises `UsageError` and `StorageError`.
        """
        settings = self.settings_in(workspace)
        change = await settings.live.change(key, read_value(value))
        if change.overridden_by is not None:
            return f"`{key}` is saved, but {change.overridden_by} goes before the settings file."
        source = settings.loaded.sources.get(key)
        if source is not None and source.kind == "project":
            now = shown_value(value_of(settings.current, key))
            return f"`{key}` is saved, but this project is stricter: here it is `{now}`, from `{source}`."
        where = f" It is in `{settings.live.path}`." if settings.live.path is not None else ""
        return f"`{key}` is `{shown_value(change.after) or 'not set'}` from the next step on.{where}"
