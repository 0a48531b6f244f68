"""What the parts of a request are called, and which colour each has."""

from PySide6.QtCore import QCoreApplication

from desktop_agent.core.protocol.model import ContextSection, SectionKind

COLOURS: dict[SectionKind, str] = {
    "tools": "faint",
    "system": "muted",
    "guidance": "syntax_function",
    "summary": "syntax_number",
    "conversation": "accent",
    "pictures": "syntax_string",
    "pins": "syntax_keyword",
}
"""Roles of the palette. The list beside the bar says in words what each is."""


def _tr(text: str) -> str:
    return QCoreApplication.translate("Context", text)


def section_name(section: ContextSection) -> str:
    """Return what a part is called."""
    match section.kind:
        case "tools":
            return _tr("Tools")
        case "system":
            return _tr("System prompt")
        case "guidance":
            parts = section.name.rsplit("/", 2)
            return "/".join(parts[-2:])
        case "summary":
            return _tr("Summary")
        case "conversation":
            return _tr("Conversation")
        case "pictures":
            return _tr("Pictures")
        case "pins":
            return _tr("Pins")


def section_hint(section: ContextSection) -> str:
    """Return a sentence on what a part is."""
    match section.kind:
        case "tools":
            return _tr("The descriptions of the agent's tools.")
        case "system":
            return _tr("The instructions the agent gets before everything else.")
        case "guidance":
            return _tr("From {0}. It is read again when a turn begins.").format(section.name)
        case "summary":
            return _tr("Stands in the place of older turns. You can rewrite it: one point per line, under its heading.")
        case "conversation":
            return _tr("What was said, called and answered, word by word.")
        case "pictures":
            return _tr("The newest pictures of the conversation. Older ones are left out.")
        case "pins":
            return _tr("What you pinned. It is sent with every request, behind everything else.")
