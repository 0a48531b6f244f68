"""The visual language as data: colours by role, space, radii, type sizes. Nothing else may name a colour.

`docs/visual.md` of the design is the source; where its values missed the contrast it asks for (4.5:1 for text, 3:1 for
controls and hints), they are darkened or lightened just enough, and `tests/ui/theme/test_tokens.py` keeps it so.
"""

from typing import Literal, NamedTuple


class Palette(NamedTuple):
    """Colours by role, as `#RRGGBB`. A tuple, because a dataclass of this size costs 3 ms before the first paint."""

    is_dark: bool
    bg: str
    """Window and side panels."""
    surface: str
    """Transcript, diff, dialogs."""
    sunken: str
    """The user's messages, output, hunk bars."""
    border: str
    """Hairlines."""
    border_strong: str
    """Dialogs, menus and other raised surfaces."""
    control_border: str
    """Edges that show where to type or choose."""
    text: str
    muted: str
    """Secondary text."""
    faint: str
    """Hints only, never needed to understand."""
    accent: str
    """The primary action, the selection, what runs, the focus ring."""
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
    """Whatever waits for the user."""
    warning_bg: str
    warning_border: str
    syntax_keyword: str
    syntax_function: str
    syntax_string: str
    syntax_comment: str
    syntax_number: str


_COLOURS = {
    "bg": ("#F7F7F5", "#14161A"),
    "surface": ("#FFFFFF", "#1A1D22"),
    "sunken": ("#F0F0ED", "#111317"),
    "border": ("#E2E2DD", "#2B3038"),
    "border_strong": ("#C9C9C2", "#3B424D"),
    "control_border": ("#888882", "#6B727D"),
    "text": ("#1D1F23", "#E4E6EA"),
    "muted": ("#676B73", "#9BA2AD"),
    "faint": ("#84888F", "#737A85"),
    "accent": ("#0E7C70", "#45B8A9"),
    "accent_weak": ("#E0F1EE", "#173430"),
    "accent_text": ("#0A5F56", "#7FD6CA"),
    "on_accent": ("#FFFFFF", "#0B1F1C"),
    "added_line": ("#E4F5E9", "#15291D"),
    "added_word": ("#B9E6C7", "#1F5133"),
    "added_text": ("#17693A", "#7BD79B"),
    "removed_line": ("#FCE9E8", "#2F1B1C"),
    "removed_word": ("#F6C6C2", "#642C2E"),
    "removed_text": ("#A5302A", "#F2938D"),
    "danger_bg": ("#FCE9E8", "#2F1B1C"),
    "danger_text": ("#A5302A", "#F2938D"),
    "warning_text": ("#8A5A00", "#E9BC62"),
    "warning_bg": ("#FDF3DC", "#2B2416"),
    "warning_border": ("#EBCF8F", "#5C4A20"),
    "syntax_keyword": ("#8250A8", "#C79BEA"),
    "syntax_function": ("#1D5FAE", "#7FB4F5"),
    "syntax_string": ("#2A762E", "#8FCF8F"),
    "syntax_comment": ("#676C75", "#8C949F"),
    "syntax_number": ("#A85400", "#E5A76B"),
}
"""By role, in the light theme and in the dark one."""

_COLOUR_BLIND_SAFE = {
    "added_line": ("#E3EFFC", "#14263A"),
    "added_word": ("#B5D5F7", "#1F4A75"),
    "added_text": ("#124F8C", "#8CC1F7"),
    "removed_line": ("#FDEEDB", "#33230F"),
    "removed_word": ("#F8D3A0", "#6B4414"),
    "removed_text": ("#8F4A00", "#F0B26A"),
    "danger_bg": ("#FDEEDB", "#33230F"),
    "danger_text": ("#8F4A00", "#F0B26A"),
}
"""Blue for added and orange for removed, and for danger."""

LIGHT = Palette(is_dark=False, **{role: light for role, (light, _) in _COLOURS.items()})
DARK = Palette(is_dark=True, **{role: dark for role, (_, dark) in _COLOURS.items()})


def colour_blind_safe(palette: Palette) -> Palette:
    """Return `palette` with blue for added and orange for removed instead of green and red."""
    return palette._replace(**{role: colours[palette.is_dark] for role, colours in _COLOUR_BLIND_SAFE.items()})


class Space:
    """The 4-pixel grid, in device-independent pixels."""

    XS = 4
    S = 8
    M = 12
    L = 16
    XL = 20
    XXL = 28
    ENTRY = 14
    """Between two entries of the transcript."""


class Radius:
    """Corner radii, in device-independent pixels."""

    CONTROL = 6
    CARD = 8
    DIALOG = 10


class TypeSize:
    """Font sizes, in device-independent pixels."""

    HEAD = 11
    SECONDARY = 12
    BODY = 13
    TITLE = 16
    CODE = 12
    DIFF = 11.5


class TextSizes(NamedTuple):
    """The sizes that the user can set, in device-independent pixels."""

    chat: float = TypeSize.BODY
    code: float = TypeSize.CODE
    """In the chat, its tool cards and commands."""
    diff: float = TypeSize.DIFF


Density = Literal["comfortable", "compact"]
"""How close together the conversation stands."""


class Height:
    """Heights of controls and rows, in device-independent pixels."""

    BUTTON = 28
    SMALL_BUTTON = 22
    LIST_ROW = 28
    TOP_BAR = 43
