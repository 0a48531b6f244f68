"""The visual language as data: colours by role, contrast, space, radii, type sizes. Nothing else names a colour."""

from functools import lru_cache
from typing import Final, Literal, NamedTuple

_STEPS = 20


def luminance(colour: str) -> float:
    """Return the relative luminance of `#RRGGBB`, from 0 to 1."""
    parts = [part / 255 for part in _parts(colour)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of two colours, from 1 to 21."""
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def mixed(one: str, other: str, share: float) -> str:
    """Return `one` with a `share` (0 to 1) of `other` in it."""
    pairs = zip(_parts(one), _parts(other), strict=True)
    return "#" + "".join(f"{round(a + (b - a) * share):02X}" for a, b in pairs)


@lru_cache(maxsize=4096)
def legible(colour: str, ground: str, ratio: float) -> str:
    if contrast(colour, ground) >= ratio:
        return colour
    far = max(("#000000", "#FFFFFF"), key=lambda end: contrast(end, ground))
    steps = (mixed(colour, far, step / _STEPS) for step in range(1, _STEPS + 1))
    return next((step for step in steps if contrast(step, ground) >= ratio), far)


def _parts(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


_TEXT_RATIO: Final = 4.5
_HIGH_TEXT_RATIO: Final = 7.0
"""The least contrast of text with its background, normally (WCAG's AA) and with high contrast (AAA)."""


class Palette(NamedTuple):
    """Colours by role, as `#RRGGBB`. A tuple, because a dataclass of this size costs 3 ms before the first paint."""

    is_dark: bool
    is_high_contrast: bool
    bg: str
    """Window and side panels."""
    surface: str
    """Transcript, diff, dialogs."""
    sunken: str
    """The user's messages, output, hunk bars."""
    border: str
    border_strong: str
    """Dialogs, menus and other raised surfaces."""
    control_border: str
    """The edges of controls, which show where to type or choose."""
    text: str
    muted: str
    faint: str
    """Hints only, never needed to understand."""
    accent: str
    """The primary action, the selection, the mark of what runs, and the focus ring."""
    accent_weak: str
    accent_text: str
    on_accent: str
    added_line: str
    added_word: str
    added_text: str
    removed_line: str
    removed_word: str
    removed_text: str
    danger_bg: str
    danger_text: str
    """Errors, refusals and destructive actions."""
    warning_text: str
    """The colour of what waits for the user."""
    warning_bg: str
    warning_border: str
    found_current: str
    syntax_keyword: str
    syntax_function: str
    syntax_string: str
    syntax_comment: str
    syntax_number: str

    @property
    def text_ratio(self) -> float:
        """The least contrast of text with its background, for colours that are mixed or come from a program."""
        return _HIGH_TEXT_RATIO if self.is_high_contrast else _TEXT_RATIO


_COLOURS = {
    "bg": ("#F7F7F5", "#14161A", "#FFFFFF", "#000000"),
    "surface": ("#FFFFFF", "#1A1D22", "#FFFFFF", "#000000"),
    "sunken": ("#F0F0ED", "#111317", "#F3F3F2", "#141414"),
    "border": ("#E2E2DD", "#2B3038", "#666666", "#8C8C8C"),
    "border_strong": ("#C9C9C2", "#3B424D", "#3C3C3C", "#B4B4B4"),
    "control_border": ("#888882", "#6B727D", "#2A2A2A", "#C8C8C8"),
    "text": ("#1D1F23", "#E4E6EA", "#000000", "#FFFFFF"),
    "muted": ("#676B73", "#9BA2AD", "#333537", "#D0D4DA"),
    "faint": ("#84888F", "#737A85", "#414447", "#B9BEC6"),
    "accent": ("#0E7C70", "#45B8A9", "#00574D", "#5CE0CF"),
    "accent_weak": ("#E0F1EE", "#173430", "#D2F1EC", "#06332D"),
    "accent_text": ("#0A5F56", "#7FD6CA", "#003F38", "#A6F2E8"),
    "on_accent": ("#FFFFFF", "#0B1F1C", "#FFFFFF", "#000000"),
    "added_line": ("#E4F5E9", "#15291D", "#DDF5E4", "#08280F"),
    "added_word": ("#B9E6C7", "#1F5133", "#A3E0B6", "#0F5426"),
    "added_text": ("#17693A", "#7BD79B", "#0A4423", "#8FF0AE"),
    "removed_line": ("#FCE9E8", "#2F1B1C", "#FDE5E3", "#35090B"),
    "removed_word": ("#F6C6C2", "#642C2E", "#F7B9B3", "#7A1B20"),
    "removed_text": ("#A5302A", "#F2938D", "#7A120D", "#FFB4AF"),
    "danger_bg": ("#FCE9E8", "#2F1B1C", "#FDE5E3", "#35090B"),
    "danger_text": ("#A5302A", "#F2938D", "#7A120D", "#FFB4AF"),
    "warning_text": ("#8A5A00", "#E9BC62", "#573800", "#FFD778"),
    "warning_bg": ("#FDF3DC", "#2B2416", "#FFF0CC", "#2E2400"),
    "warning_border": ("#EBCF8F", "#5C4A20", "#7F5A00", "#B58A1E"),
    "found_current": ("#EBCF8F", "#5C4A20", "#F2C65A", "#5E4600"),
    "syntax_keyword": ("#8250A8", "#C79BEA", "#54237C", "#DDBBFF"),
    "syntax_function": ("#1D5FAE", "#7FB4F5", "#0B3A7A", "#A6D0FF"),
    "syntax_string": ("#2A762E", "#8FCF8F", "#114A16", "#A6EBA6"),
    "syntax_comment": ("#676C75", "#8C949F", "#404449", "#BEC5CE"),
    "syntax_number": ("#A85400", "#E5A76B", "#643000", "#FFC48C"),
}
"""The colours by role, each in four themes: light, dark, light with high contrast, dark with high contrast."""

_COLOUR_BLIND_SAFE = {
    "added_line": ("#E3EFFC", "#14263A", "#DCEBFD", "#03203D"),
    "added_word": ("#B5D5F7", "#1F4A75", "#A5CCF8", "#0E4A82"),
    "added_text": ("#124F8C", "#8CC1F7", "#08396B", "#A9D4FF"),
    "removed_line": ("#FDEEDB", "#33230F", "#FFEBD2", "#331C00"),
    "removed_word": ("#F8D3A0", "#6B4414", "#FBC27C", "#6E3D00"),
    "removed_text": ("#8F4A00", "#F0B26A", "#6B3400", "#FFC684"),
    "danger_bg": ("#FDEEDB", "#33230F", "#FFEBD2", "#331C00"),
    "danger_text": ("#8F4A00", "#F0B26A", "#6B3400", "#FFC684"),
}
"""Colours that replace some of `_COLOURS`: blue for what was added, orange for what was removed and for danger."""


def _palette(*, is_dark: bool, is_high_contrast: bool) -> Palette:
    place = is_dark + 2 * is_high_contrast
    return Palette(is_dark, is_high_contrast, **{role: colours[place] for role, colours in _COLOURS.items()})


LIGHT = _palette(is_dark=False, is_high_contrast=False)
DARK = _palette(is_dark=True, is_high_contrast=False)
HIGH_CONTRAST_LIGHT = _palette(is_dark=False, is_high_contrast=True)
HIGH_CONTRAST_DARK = _palette(is_dark=True, is_high_contrast=True)


def colour_blind_safe(palette: Palette) -> Palette:
    place = palette.is_dark + 2 * palette.is_high_contrast
    return palette._replace(**{role: colours[place] for role, colours in _COLOUR_BLIND_SAFE.items()})


class Space:
    """The 4-pixel grid, in device-independent pixels, like all sizes here."""

    XS = 4
    S = 8
    M = 12
    L = 16
    XL = 20
    XXL = 28
    ENTRY = 14


class Radius:
    CONTROL = 6
    CARD = 8
    DIALOG = 10


class TypeSize:
    HEAD = 11
    SECONDARY = 12
    BODY = 13
    TITLE = 16
    CODE = 12
    DIFF = 11.5


class TextSizes(NamedTuple):
    """The text sizes that the user can set, in device-independent pixels."""

    chat: float = TypeSize.BODY
    code: float = TypeSize.CODE
    """The size of code in the chat, in tool cards and in commands."""
    diff: float = TypeSize.DIFF


Density = Literal["comfortable", "compact"]

MotionChoice = Literal["system", "full", "reduced"]


class Wishes(NamedTuple):
    """The system's accessibility settings that every program should follow."""

    less_motion: bool = False
    high_contrast: bool = False


class Height:
    BUTTON = 28
    SMALL_BUTTON = 22
    LIST_ROW = 28
    TOP_BAR = 43
