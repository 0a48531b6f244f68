"""Gives the theme what the settings say about the look."""

from desktop_agent.core.settings import UiSettings
from desktop_agent.ui.theme import TextSizes, Theme


def apply_look(theme: Theme, settings: UiSettings) -> None:
    """Make the window look as `settings` say, at once."""
    theme.choose_sizes(TextSizes(settings.chat_font_px, settings.code_font_px, settings.diff_font_px))
    theme.choose_density(settings.density)
    theme.choose(settings.theme, is_colour_blind_safe=settings.colour_blind_safe_diff)
