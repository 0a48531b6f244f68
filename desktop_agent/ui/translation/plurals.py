"""Says how many of something there are, in the plural forms of the user's language."""

from PySide6.QtCore import QCoreApplication

_GROUP = "\N{NARROW NO-BREAK SPACE}"
"""Stands between thousands, as everywhere in the window."""


def plural(context: str, count: int, one: str, many: str) -> str:
    """Return `many` in the user's language, in the form for `count`, which stands where `%n` is.

    `many` is what is looked up and translated, with as many forms as a language has. `one` is the English singular:
    English is written here, so that no translation has to be loaded for it.
    """
    said = QCoreApplication.translate(context, many, None, count)
    if count == 1 and said == many.replace("%n", "1"):
        said = one.replace("%n", "1")
    return said if count < 1_000 else said.replace(str(count), f"{count:,}".replace(",", _GROUP), 1)
