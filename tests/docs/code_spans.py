"""Code in markdown."""


def as_code(text: str) -> str:
    """Return `text` as code in markdown."""
    return f"``{text} ``" if "`" in text else f"`{text}`"
