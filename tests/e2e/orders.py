"""A small shop for reviews: a patch changes a module in three places, and a command replaces a picture."""

import struct
import zlib
from difflib import unified_diff
from pathlib import Path

from tests.pictures import png_chunk
from tests.servers.script import Reply, reply, text, thinking, tool_use

MODULE = "shop/orders.py"
LOGO = "shop/logo.png"

BEFORE = '''\
"""Orders of the shop: what they cost, and who gets them."""

from dataclasses import dataclass, field
from decimal import Decimal


@dataclass
class Line:
    """Some pieces of one article."""

    article: str
    pieces: int
    price: Decimal


@dataclass
class Order:
    """What one customer wants at once."""

    customer: str
    lines: list[Line] = field(default_factory=list)

    def total(self):
        total = 0
        for line in self.lines:
            total = total + line.pieces * line.price
        return total

    def weight(self, weights):
        """The weight of everything, in grams."""
        return sum(weights[line.article] * line.pieces for line in self.lines)

    def is_empty(self):
        """Whether nothing was chosen yet."""
        return not self.lines


def shipping(order, weights):
    """What sending the order costs."""
    if order.weight(weights) > 5000:
        return Decimal("9.90")
    return Decimal("4.90")


def label(order):
    """What stands on the parcel."""
    count = sum(line.pieces for line in order.lines)
    return f"{order.customer} ({count})"


def discount(order):
    """What regular customers save."""
    if order.total() > 100:
        return order.total() * Decimal(0.05)
    return Decimal(0)


def receipt(order):
    """The text that is printed."""
    rows = [f"{line.pieces} x {line.article}" for line in order.lines]
    return "\\n".join(rows)
'''

EDITS = (
    (
        """\
    def total(self):
        total = 0
        for line in self.lines:
            total = total + line.pieces * line.price
        return total
""",
        """\
    def total(self) -> Decimal:
        \"\"\"What all pieces cost together.\"\"\"
        return sum((line.pieces * line.price for line in self.lines), Decimal(0))
""",
    ),
    (
        """\
    if order.weight(weights) > 5000:
        return Decimal("9.90")
""",
        """\
    if order.is_empty():
        return Decimal(0)
    if order.weight(weights) > 5000:
        return Decimal("9.90")
""",
    ),
    (
        "        return order.total() * Decimal(0.05)\n",
        '        return order.total() * Decimal("0.05")\n',
    ),
)


def module_with(*numbers: int) -> str:
    """Return the module with these of the three edits, counted from 0."""
    content = BEFORE
    for number in numbers:
        old, new = EDITS[number]
        assert content.count(old) == 1
        content = content.replace(old, new)
    return content


AFTER = module_with(0, 1, 2)


def make_shop(root: Path) -> None:
    folder = root / "shop"
    folder.mkdir(parents=True)
    reset_shop(root)
    (root / "drafts").mkdir()
    (root / "drafts" / "logo.png").write_bytes(_logo((14, 124, 112), (253, 243, 220)))


def reset_shop(root: Path) -> None:
    (root / MODULE).write_text(BEFORE)
    (root / LOGO).write_bytes(_logo((70, 120, 190), (240, 240, 236)))


def answers() -> tuple[Reply, ...]:
    patch = "".join(unified_diff(BEFORE.splitlines(True), AFTER.splitlines(True), f"a/{MODULE}", f"b/{MODULE}"))
    return (
        reply(
            thinking("The totals start from an int, and an empty order pays for shipping.", signature="s"),
            text("I'll read the module first.\n"),
            tool_use("read_file", path=MODULE),
        ),
        reply(
            text(
                "Three things are wrong: `total` starts from an `int`, an **empty order** pays for shipping, and the "
                "discount is computed from a `float`.\n"
            ),
            tool_use("apply_patch", patch=patch),
        ),
        reply(
            text("Now the new logo.\n"),
            tool_use("run_terminal_cmd", command=f"cp drafts/logo.png {LOGO}", explanation="Take the new logo"),
        ),
        reply(text("Done: the three places are fixed, and the shop has its new logo.")),
    )


def _logo(ground: tuple[int, int, int], sign: tuple[int, int, int], size: int = 160) -> bytes:
    """A PNG of a ring on a plain ground, made without Qt."""
    middle, outer, inner = size / 2, (size * 0.36) ** 2, (size * 0.22) ** 2

    def pixel(x: int, y: int) -> tuple[int, int, int]:
        distance = (x - middle) ** 2 + (y - middle) ** 2
        return sign if inner <= distance <= outer else ground

    rows = b"".join(b"\0" + bytes(part for x in range(size) for part in pixel(x, y)) for y in range(size))
    head = struct.pack(">IIBBBBB", size, size, 8, 2, 0, 0, 0)
    chunks = (b"IHDR", head), (b"IDAT", zlib.compress(rows)), (b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(png_chunk(*chunk) for chunk in chunks)
