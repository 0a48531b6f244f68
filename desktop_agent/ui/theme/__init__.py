"""The visual theme: tokens, fonts, the style sheet made of them, and the `Theme` object that widgets are given."""

from desktop_agent.ui.theme.theme import Theme, ThemeChoice, last_interface_size, last_theme
from desktop_agent.ui.theme.tokens import (
    Density,
    Height,
    MotionChoice,
    Palette,
    Radius,
    Space,
    TextSizes,
    TypeSize,
    Wishes,
)

__all__ = [
    "Density", "Height", "MotionChoice", "Palette", "Radius", "Space", "TextSizes", "Theme", "ThemeChoice",
    "TypeSize", "Wishes", "last_interface_size", "last_theme",
]  # fmt: skip
