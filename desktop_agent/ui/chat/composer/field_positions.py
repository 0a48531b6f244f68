"""Positions in the text of a field: Python counts code points, Qt counts twice those beyond U+FFFF, such as emoji."""

from desktop_agent.ui.wording.visible_text import utf16_length


def position_of(text: str, index: int) -> int:
    """Return Qt's position of a place in `text`."""
    return utf16_length(text[:index])


def index_of(text: str, position: int) -> int:
    """Return the place in `text` of a position of Qt."""
    if text.isascii():
        return position
    before = text.encode("utf-16-le", "surrogatepass")[: 2 * position]
    return len(before.decode("utf-16-le", "surrogatepass"))
