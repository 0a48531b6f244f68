"""Whether a picture of the window looks like another one, and if not, where.

The pictures are compared in squares, which differ when a tenth of their pixels do: less than a word. Slightly darker
pixels of another machine do not count.
"""

from collections import Counter

from PySide6.QtCore import QRect
from PySide6.QtGui import QImage

from tests.e2e.tour.small_png import pixels_of

_SQUARE_PX = 24
_MOST_OF_SQUARE = 0.08
_NOTICED = 56
"""The least difference of a colour channel, of 255, that counts: small PNGs differ by less."""
_MOST_NAMED = 5


def differences(before: QImage, now: QImage) -> list[str]:
    if before.size() != now.size():
        return [f"{now.width()} × {now.height()} instead of {before.width()} × {before.height()}"]
    width = now.width()
    counts: Counter[tuple[int, int]] = Counter()
    for place, (old, new) in enumerate(zip(pixels_of(before), pixels_of(now), strict=True)):
        if old != new and _is_noticed(old, new):
            counts[place % width // _SQUARE_PX, place // width // _SQUARE_PX] += 1
    most = _SQUARE_PX**2 * _MOST_OF_SQUARE
    squares = sorted(((y, x) for (x, y), count in counts.items() if count > most))
    named = [_named(QRect(x * _SQUARE_PX, y * _SQUARE_PX, _SQUARE_PX, _SQUARE_PX)) for y, x in squares[:_MOST_NAMED]]
    return named + ([f"and {more} more places"] if (more := len(squares) - len(named)) else [])


def _is_noticed(old: int, new: int) -> bool:
    return any(abs((old >> place & 0xFF) - (new >> place & 0xFF)) >= _NOTICED for place in (16, 8, 0))


def _named(square: QRect) -> str:
    return f"at {square.x()}, {square.y()}"
