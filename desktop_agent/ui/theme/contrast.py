"""The contrast of two colours, as WCAG measures it, and colours changed until they have enough of it."""

from functools import lru_cache

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
    """Return `colour`, lighter or darker by just so much that it can be read on `ground`."""
    if contrast(colour, ground) >= ratio:
        return colour
    far = max(("#000000", "#FFFFFF"), key=lambda end: contrast(end, ground))
    steps = (mixed(colour, far, step / _STEPS) for step in range(1, _STEPS + 1))
    return next((step for step in steps if contrast(step, ground) >= ratio), far)


def _parts(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)
