"""Applies the settings for appearance and keys to the window."""

from desktop_agent.core.settings.keyboard import keys_in_force, keys_of
from desktop_agent.core.settings.sections import Settings, UiSettings
from desktop_agent.core.settings.values import setting_values
from desktop_agent.ui.theme import TextSizes, Theme
from desktop_agent.ui.window.actions import Actions


def apply_look(theme: Theme, settings: UiSettings) -> None:
    theme.choose_sizes(TextSizes(settings.chat_font_px, settings.code_font_px, settings.diff_font_px))
    theme.choose_density(settings.density)
    theme.choose_motion(settings.motion)
    theme.choose(settings.theme, is_colour_blind_safe=settings.colour_blind_safe_diff)


def apply_keys(actions: Actions, settings: Settings) -> None:
    wanted, defaults = keys_of(setting_values(settings)), keys_of(setting_values(Settings()))
    actions.set_keys(keys_in_force(wanted, defaults))
