"""Tooltips of text that somebody else wrote: file names, titles, paths."""


def plain_tooltip(text: str) -> str:
    """Return `text` such that a tooltip shows it sign for sign.

    Qt takes what looks like HTML for HTML, in tooltips always: a file could be named to show something else.
    """
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return f"<p style='white-space: pre-wrap'>{escaped}</p>" if text else ""
