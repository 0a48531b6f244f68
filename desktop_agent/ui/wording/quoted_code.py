"""Code within a sentence, where a label has no font for it."""

import re

_CODE = re.compile(r"`([^`\n]+)`")
"""What documents and terminals show as code."""


def quoted(text: str) -> str:
    """Return `text` with its code in quotes."""
    return _CODE.sub(r"“\1”", text)
