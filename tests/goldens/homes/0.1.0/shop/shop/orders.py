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

    def total(self) -> Decimal:
        """What all pieces cost together."""
        return sum((line.pieces * line.price for line in self.lines), Decimal(0))

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
        return order.total() * Decimal("0.05")
    return Decimal(0)


def receipt(order):
    """The text that is printed."""
    rows = [f"{line.pieces} x {line.article}" for line in order.lines]
    return "\n".join(rows)
