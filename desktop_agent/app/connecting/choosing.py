"""Keeps in the settings which account and model new conversations begin with."""

from desktop_agent.core.models.account import Account
from desktop_agent.core.settings.live_settings import LiveSettings
from desktop_agent.core.settings.model_choice import left_behind


async def choose(live: LiveSettings, account: Account, model: str) -> None:
    """Let new conversations be by this account and model; what was set for another provider is taken out.

    Raises what `LiveSettings.change` raises.
    """
    for key in left_behind(live.loaded, account.provider):
        await live.reset(key)
    await live.change("model.provider", account.provider)
    await _change(live, "model.account", account.name)
    if account.is_usual and account.address:
        await live.change("model.base_url", account.address)
    await live.change("model.name", model)


async def _change(live: LiveSettings, key: str, value: str) -> None:
    """Write a setting, or take it out of the file when it is to be empty."""
    if value:
        await live.change(key, value)
    elif key in live.loaded.sources:
        await live.reset(key)
