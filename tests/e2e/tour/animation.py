"""An animated PNG of a window: each picture stores only its difference from the last one."""

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QRect
from PySide6.QtGui import QImage

from tests.e2e.tour.small_png import ColourTable, packed, pixels_of, png_end, png_head
from tests.pictures import png_chunk


@dataclass(frozen=True)
class Frame:
    image: QImage
    shown_ms: int


def animated_png(frames: Sequence[Frame]) -> bytes:
    """Return the file. It loops for ever; viewers without animation show the first picture."""
    frames = _merged(frames)
    first = frames[0].image
    table = ColourTable([pixels_of(frame.image) for frame in frames])
    parts = [png_head(first.width(), first.height()), table.chunk]
    parts.append(png_chunk(b"acTL", struct.pack(">II", len(frames), 0)))
    before, number = None, 0
    for frame in frames:
        place = first.rect() if before is None else _difference(before, frame.image)
        parts.append(png_chunk(b"fcTL", _control(number, place, frame.shown_ms)))
        number += 1
        data = packed(table.numbers(pixels_of(frame.image.copy(place))), place.width())
        if before is None:
            parts.append(png_chunk(b"IDAT", data))
        else:
            parts.append(png_chunk(b"fdAT", struct.pack(">I", number) + data))
            number += 1
        before = frame.image
    return b"".join((*parts, png_end()))


def _merged(frames: Sequence[Frame]) -> list[Frame]:
    merged: list[Frame] = []
    for frame in frames:
        if merged and merged[-1].image == frame.image:
            merged[-1] = Frame(frame.image, merged[-1].shown_ms + frame.shown_ms)
        else:
            merged.append(frame)
    return merged


def _control(number: int, place: QRect, shown_ms: int) -> bytes:
    size = (place.width(), place.height(), place.x(), place.y())
    return struct.pack(">IIIIIHHBB", number, *size, shown_ms, 1000, 0, 0)


def _difference(before: QImage, after: QImage) -> QRect:
    width, old, new = after.width(), pixels_of(before), pixels_of(after)
    rows = [row for row in range(after.height()) if old[row * width :][:width] != new[row * width :][:width]]
    top, bottom = rows[0], rows[-1]
    columns = [
        column for column in range(width) if any(old[row * width + column] != new[row * width + column] for row in rows)
    ]
    return QRect(columns[0], top, columns[-1] - columns[0] + 1, bottom - top + 1)
