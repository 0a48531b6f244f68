"""Programs' colours are readable wherever output is shown, in both themes."""

from itertools import product

import pytest

from desktop_agent.core.terminal.rows import PrintedStyle
from desktop_agent.ui.terminal.printed_text import LookFormats, ansi_colours
from desktop_agent.ui.theme.tokens import (
    DARK,
    HIGH_CONTRAST_DARK,
    HIGH_CONTRAST_LIGHT,
    LIGHT,
    Palette,
    contrast,
    legible,
)

EVERY_PALETTE = pytest.mark.parametrize(
    "palette",
    [LIGHT, DARK, HIGH_CONTRAST_LIGHT, HIGH_CONTRAST_DARK],
    ids=["light", "dark", "light, high contrast", "dark, high contrast"],
)
TEXT_RATIO = 4.5


@EVERY_PALETTE
def test_each_of_the_sixteen_can_be_read_on_every_ground(palette: Palette) -> None:
    colours = ansi_colours(palette)
    assert len(colours) == 16
    grounds = (palette.sunken, palette.surface, palette.bg)
    faint = [
        (number, ground)
        for number, colour in enumerate(colours)
        for ground in grounds
        if contrast(colour, ground) < TEXT_RATIO
    ]
    assert faint == []


@EVERY_PALETTE
def test_whatever_a_program_asks_for_can_be_read(palette: Palette) -> None:
    foregrounds = ("", "ansi0", "ansi1", "ansi7", "ansi15", "#000080", "#FFFF00", "#808080")
    backgrounds = ("", "ansi0", "ansi1", "ansi3", "ansi15", "#000080", "#FFFF00")
    formats = LookFormats(palette, palette.sunken)
    faint: list[tuple[str, ...]] = []
    for foreground, background, style in product(foregrounds, backgrounds, ("", "is_dim", "is_inverse", "is_bold")):
        look = PrintedStyle(foreground, background)._replace(**({style: True} if style else {}))
        text, ground = formats.colours(look)
        behind = ground or palette.sunken
        # On a medium background no colour reaches 7:1: then the text is black or white.
        best = max(contrast("#000000", behind), contrast("#FFFFFF", behind))
        if contrast(text, behind) < min(palette.text_ratio, best):
            faint.append((foreground, background, style))
    assert faint == []


@EVERY_PALETTE
def test_inverse_swaps_text_and_ground(palette: Palette) -> None:
    formats = LookFormats(palette, palette.sunken)
    assert formats.colours(PrintedStyle(is_inverse=True)) == (palette.sunken, palette.text)


@EVERY_PALETTE
def test_colours_differ_from_each_other(palette: Palette) -> None:
    assert len(set(ansi_colours(palette))) == 16


def test_a_colour_that_can_be_read_stays_as_it_is() -> None:
    assert legible("#0000AA", "#FFFFFF", TEXT_RATIO) == "#0000AA"
    assert legible("#FFFF00", "#FFFFFF", TEXT_RATIO) != "#FFFF00"
