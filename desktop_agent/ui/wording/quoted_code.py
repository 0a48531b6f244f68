"""Code within a sentence, where a label has no font for it."""

import re

from PySide6.QtCore import QCoreApplication

_CODE = re.compile(r"`([^`\n]+)`")
"""What documents and terminals show as code."""


def quoted(text: str) -> str:
    """Return `text` with its code in quotes."""
    return _CODE.sub(lambda code: in_quotes(code[1]), text)


def in_quotes(text: str) -> str:
    """Return `text` between the quotation marks of the user's language."""
    return QCoreApplication.translate("Quoting", "“{0}”").format(text)
