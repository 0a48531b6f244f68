"""Every colour has WCAG's contrast: 4.5:1 for text, 3:1 for marks and edges.

With high contrast it is 7:1 and 4.5:1, and every line is visible.
"""

import re
from collections.abc import Mapping

import pytest

from desktop_agent.ui.theme.theme import style_sheet
from desktop_agent.ui.theme.tokens import (
    DARK,
    HIGH_CONTRAST_DARK,
    HIGH_CONTRAST_LIGHT,
    LIGHT,
    Palette,
    colour_blind_safe,
    contrast,
)

USUAL = {"light": LIGHT, "dark": DARK}
HIGH_CONTRAST = {"light, high contrast": HIGH_CONTRAST_LIGHT, "dark, high contrast": HIGH_CONTRAST_DARK}


def and_safe(palettes: dict[str, Palette]) -> dict[str, Palette]:
    safe = {f"{name}, colour-blind safe": colour_blind_safe(palette) for name, palette in palettes.items()}
    return palettes | safe


PALETTES = and_safe(USUAL) | and_safe(HIGH_CONTRAST)
TEXT_RATIO = 4.5
MARK_RATIO = 3.0
HIGH_TEXT_RATIO = 7.0
HIGH_MARK_RATIO = 4.5

FACTS = ("is_dark", "is_high_contrast")

PLAIN = ("bg", "surface", "sunken")
LISTS = (*PLAIN, "accent_weak")
LINES = ("added_line", "removed_line")
WORDS = ("added_word", "removed_word")

TEXT_ON = {
    "text": (*LISTS, *LINES, *WORDS, "warning_bg", "found_current"),
    "muted": (*LISTS, *LINES, "warning_bg"),
    "accent_text": (*LISTS, "warning_bg"),
    "on_accent": ("accent",),
    "surface": ("accent_text",),  # the primary button under the pointer
    "added_text": (*LISTS, "added_line"),
    "removed_text": (*LISTS, "removed_line"),
    "danger_text": (*LISTS, "danger_bg", "warning_bg"),
    "warning_text": (*LISTS, "warning_bg"),
}
"""Text colours with their backgrounds. Changed words of a diff are plain text, whatever their syntax."""

SYNTAX = ("syntax_keyword", "syntax_function", "syntax_string", "syntax_comment", "syntax_number")
SYNTAX_ON = (*PLAIN, *LINES)

MARKS_ON = {
    "faint": (*LISTS, *LINES, "warning_bg"),
    "accent": (*LISTS, *LINES, "warning_bg"),
    "control_border": (*PLAIN, "warning_bg"),
}
"""Hints that are not essential, marks, focus rings and edges of fields, with their backgrounds."""

LINES_ON = {
    "border": PLAIN,
    "border_strong": PLAIN,
    "warning_border": (*PLAIN, "warning_bg"),
    "accent": (*LISTS, *LINES, "warning_bg"),
}
"""What has edges in high contrast: panels, cards, menus, selected rows."""

EVERY_PALETTE = pytest.mark.parametrize("palette", PALETTES.values(), ids=PALETTES.keys())
EVERY_HIGH_CONTRAST = pytest.mark.parametrize(
    "palette", and_safe(HIGH_CONTRAST).values(), ids=and_safe(HIGH_CONTRAST).keys()
)


def too_faint(palette: Palette, grounds_of: Mapping[str, tuple[str, ...]], ratio: float) -> list[str]:
    colours = palette._asdict()
    pairs = [(role, ground) for role, grounds in grounds_of.items() for ground in grounds]
    ratios = {f"{role} on {ground}": contrast(colours[role], colours[ground]) for role, ground in pairs}
    return [f"{pair}: {found:.2f}" for pair, found in ratios.items() if found < ratio]


def test_the_measure_is_that_of_wcag() -> None:
    assert contrast("#000000", "#FFFFFF") == pytest.approx(21)
    assert contrast("#FFFFFF", "#FFFFFF") == pytest.approx(1)
    assert contrast("#777777", "#FFFFFF") == pytest.approx(4.48, abs=0.005)


@EVERY_PALETTE
def test_text_can_be_read_on_every_ground_it_stands_on(palette: Palette) -> None:
    assert too_faint(palette, TEXT_ON, TEXT_RATIO) == []


@EVERY_PALETTE
def test_code_can_be_read_in_every_colour_of_the_syntax(palette: Palette) -> None:
    assert too_faint(palette, dict.fromkeys(SYNTAX, SYNTAX_ON), TEXT_RATIO) == []


@EVERY_PALETTE
def test_marks_hints_and_edges_of_controls_can_be_seen(palette: Palette) -> None:
    assert too_faint(palette, MARKS_ON, MARK_RATIO) == []


@EVERY_HIGH_CONTRAST
def test_high_contrast_is_seven_to_one_for_all_text_and_hints(palette: Palette) -> None:
    read = TEXT_ON | {"faint": MARKS_ON["faint"]} | dict.fromkeys(SYNTAX, SYNTAX_ON)
    assert too_faint(palette, read, HIGH_TEXT_RATIO) == []
    assert palette.text_ratio == HIGH_TEXT_RATIO


@EVERY_HIGH_CONTRAST
def test_high_contrast_shows_every_edge(palette: Palette) -> None:
    assert too_faint(palette, MARKS_ON | LINES_ON, HIGH_MARK_RATIO) == []


@EVERY_PALETTE
def test_a_palette_is_as_dark_as_it_says(palette: Palette) -> None:
    assert (contrast(palette.bg, "#000000") < contrast(palette.text, "#000000")) is palette.is_dark


@EVERY_PALETTE
def test_every_role_has_a_colour_in_full(palette: Palette) -> None:
    colours = {role: value for role, value in palette._asdict().items() if role not in FACTS}
    assert [role for role, value in colours.items() if not re.fullmatch(r"#[0-9A-F]{6}", value)] == []


@EVERY_PALETTE
def test_every_role_that_is_read_has_its_grounds_here(palette: Palette) -> None:
    # A new colour must be listed with its backgrounds.
    grounds = {*PLAIN, "accent_weak", *LINES, *WORDS, "danger_bg", "warning_bg", "found_current"}
    hairlines = {"border", "border_strong", "warning_border"}
    known = {*TEXT_ON, *SYNTAX, *MARKS_ON, *grounds, *hairlines, *FACTS}
    assert set(palette._fields) == known


def test_diffs_safe_for_the_colour_blind_change_nothing_else() -> None:
    for palette in (*USUAL.values(), *HIGH_CONTRAST.values()):
        safe = colour_blind_safe(palette)._asdict()
        changed = {role for role, value in palette._asdict().items() if safe[role] != value}
        assert changed == {*LINES, *WORDS, "added_text", "removed_text", "danger_bg", "danger_text"}


@EVERY_PALETTE
def test_the_style_sheet_leaves_no_token_open_and_invents_no_colour(palette: Palette) -> None:
    sheet = style_sheet(palette)
    assert "$" not in sheet
    named = set(re.findall(r"#[0-9A-Fa-f]{6}\b", sheet))
    assert named <= {value for value in palette._asdict().values() if isinstance(value, str)}
