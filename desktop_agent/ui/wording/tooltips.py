"""Tooltips of untrusted text: file names, titles, paths."""

from desktop_agent.core.base.plain_text import named


def plain_tooltip(text: str) -> str:
    """Return `text` such that a tooltip shows it sign for sign.

    Characters that cannot be seen are named. Qt takes what looks like HTML for HTML, in tooltips always: a file could
    be named to show something else.
    """
    shown = "\n".join(map(named, text.replace("\t", "    ").split("\n")))
    escaped = shown.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return f"<p style='white-space: pre-wrap'>{escaped}</p>" if text else ""
