"""The visual language as data: colours by role, space, radii, type sizes. Nothing else may name a colour.

`docs/visual.md` of the design is the source; where its values missed the contrast it asks for (4.5:1 for text, 3:1 for
controls and hints), they are darkened or lightened just enough, and `tests/ui/theme/test_tokens.py` keeps it so.
"""

from typing import NamedTuple


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
    """Also the text of destructive actions."""
    warning_text: str
    """Whatever waits for the user."""
    warning_bg: str
    warning_border: str
    syntax_keyword: str
    syntax_function: str
    syntax_string: str
    syntax_comment: str
    syntax_number: str


LIGHT = Palette(
    is_dark=False,
    bg="#F7F7F5",
    surface="#FFFFFF",
    sunken="#F0F0ED",
    border="#E2E2DD",
    border_strong="#C9C9C2",
    control_border="#888882",
    text="#1D1F23",
    muted="#676B73",
    faint="#84888F",
    accent="#0E7C70",
    accent_weak="#E0F1EE",
    accent_text="#0A5F56",
    on_accent="#FFFFFF",
    added_line="#E4F5E9",
    added_word="#B9E6C7",
    added_text="#17693A",
    removed_line="#FCE9E8",
    removed_word="#F6C6C2",
    removed_text="#A5302A",
    warning_text="#8A5A00",
    warning_bg="#FDF3DC",
    warning_border="#EBCF8F",
    syntax_keyword="#8250A8",
    syntax_function="#1D5FAE",
    syntax_string="#2A762E",
    syntax_comment="#676C75",
    syntax_number="#A85400",
)

DARK = Palette(
    is_dark=True,
    bg="#14161A",
    surface="#1A1D22",
    sunken="#111317",
    border="#2B3038",
    border_strong="#3B424D",
    control_border="#6B727D",
    text="#E4E6EA",
    muted="#9BA2AD",
    faint="#737A85",
    accent="#45B8A9",
    accent_weak="#173430",
    accent_text="#7FD6CA",
    on_accent="#0B1F1C",
    added_line="#15291D",
    added_word="#1F5133",
    added_text="#7BD79B",
    removed_line="#2F1B1C",
    removed_word="#642C2E",
    removed_text="#F2938D",
    warning_text="#E9BC62",
    warning_bg="#2B2416",
    warning_border="#5C4A20",
    syntax_keyword="#C79BEA",
    syntax_function="#7FB4F5",
    syntax_string="#8FCF8F",
    syntax_comment="#8C949F",
    syntax_number="#E5A76B",
)


def colour_blind_safe(palette: Palette) -> Palette:
    """Return `palette` with blue for added and orange for removed instead of green and red."""
    if palette.is_dark:
        return palette._replace(
            added_line="#14263A",
            added_word="#1F4A75",
            added_text="#8CC1F7",
            removed_line="#33230F",
            removed_word="#6B4414",
            removed_text="#F0B26A",
        )
    return palette._replace(
        added_line="#E3EFFC",
        added_word="#B5D5F7",
        added_text="#124F8C",
        removed_line="#FDEEDB",
        removed_word="#F8D3A0",
        removed_text="#8F4A00",
    )


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


class Height:
    """Heights of controls and rows, in device-independent pixels."""

    BUTTON = 28
    SMALL_BUTTON = 22
    LIST_ROW = 28
    TOP_BAR = 43
