"""Which way a paragraph is read."""

import unicodedata


def is_right_to_left(text: str) -> bool:
    """Whether its first letter belongs to a script that is written from right to left."""
    if text.isascii():
        return False
    kinds = (unicodedata.bidirectional(letter) for letter in text)
    return next((kind != "L" for kind in kinds if kind in ("L", "R", "AL")), False)
