"""Small PNG files of a window: at most 256 colours; the most frequent ones are exact."""

import struct
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence

from PySide6.QtGui import QImage

from tests.pictures import png_chunk

_MOST_COLOURS = 256
_EXACT = 160
"""The number of most frequent colours that are exact; the others share the rest."""

Box = list[tuple[int, int]]
"""Colours with their numbers of pixels."""


def pixels_of(image: QImage) -> Sequence[int]:
    converted = image.convertToFormat(QImage.Format.Format_RGB32)
    return memoryview(bytes(converted.constBits())).cast("I")  # a copy: the picture's memory is freed here


class ColourTable:
    def __init__(self, pictures: Iterable[Sequence[int]]) -> None:
        counts: Counter[int] = Counter()
        for pixels in pictures:
            counts.update(pixels)
        ranked = counts.most_common()
        exact, rest = ranked[:_EXACT], ranked[_EXACT:]
        self._colours = [colour for colour, _ in exact]
        self._numbers = {colour: number for number, colour in enumerate(self._colours)}
        for box in _boxes(rest, _MOST_COLOURS - len(exact)):
            self._numbers |= dict.fromkeys((colour for colour, _ in box), len(self._colours))
            self._colours.append(_mean(box))

    @property
    def chunk(self) -> bytes:
        return png_chunk(b"PLTE", b"".join((colour & 0xFFFFFF).to_bytes(3, "big") for colour in self._colours))

    def numbers(self, pixels: Iterable[int]) -> bytes:
        return bytes(map(self._numbers.__getitem__, pixels))


def small_png(image: QImage) -> bytes:
    pixels = pixels_of(image)
    table = ColourTable([pixels])
    data = packed(table.numbers(pixels), image.width())
    return b"".join((png_head(image.width(), image.height()), table.chunk, png_chunk(b"IDAT", data), png_end()))


def png_head(width: int, height: int) -> bytes:
    return b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0))


def png_end() -> bytes:
    return png_chunk(b"IEND", b"")


def packed(numbers: bytes, width: int) -> bytes:
    rows = (b"\0" + numbers[start : start + width] for start in range(0, len(numbers), width))
    return zlib.compress(b"".join(rows), 9)


def _boxes(colours: Box, most: int) -> list[Box]:
    """Split the colours into boxes of similar ones, always halving the box with the widest range."""
    boxes = [colours] if colours else []
    while boxes and len(boxes) < most:
        widest = max(boxes, key=_weight)
        if len(widest) < 2:
            break
        boxes.remove(widest)
        shift = max((16, 8, 0), key=lambda place: _reach(widest, place))
        widest.sort(key=lambda each: each[0] >> shift & 0xFF)
        boxes += [widest[: len(widest) // 2], widest[len(widest) // 2 :]]
    return boxes


def _weight(box: Box) -> int:
    return max(_reach(box, place) for place in (16, 8, 0)) if len(box) > 1 else -1


def _reach(box: Box, place: int) -> int:
    values = [colour >> place & 0xFF for colour, _ in box]
    return max(values) - min(values)


def _mean(box: Box) -> int:
    count = sum(number for _, number in box)
    parts = (sum((colour >> place & 0xFF) * number for colour, number in box) // count for place in (16, 8, 0))
    red, green, blue = parts
    return red << 16 | green << 8 | blue
