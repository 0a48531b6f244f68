"""The sections of the settings dialog, and what they are called there and where they can be gone to."""

from collections.abc import Mapping
from typing import Final, Literal

from PySide6.QtCore import QT_TRANSLATE_NOOP, QCoreApplication

Section = Literal[
    "model",
    "spending",
    "appearance",
    "keyboard",
    "approvals",
    "rules",
    "conversations",
    "tools",
    "mcp",
    "changes",
    "command line",
    "telemetry",
    "project",
]

SECTIONS: Final[Mapping[Section, object]] = {
    "model": QT_TRANSLATE_NOOP("SettingsSections", "Model"),
    "spending": QT_TRANSLATE_NOOP("SettingsSections", "Spending"),
    "appearance": QT_TRANSLATE_NOOP("SettingsSections", "Appearance"),
    "keyboard": QT_TRANSLATE_NOOP("SettingsSections", "Keyboard"),
    "approvals": QT_TRANSLATE_NOOP("SettingsSections", "Approvals"),
    "rules": QT_TRANSLATE_NOOP("SettingsSections", "Rules"),
    "conversations": QT_TRANSLATE_NOOP("SettingsSections", "Long conversations"),
    "tools": QT_TRANSLATE_NOOP("SettingsSections", "Tool results"),
    "mcp": QT_TRANSLATE_NOOP("SettingsSections", "MCP servers"),
    "changes": QT_TRANSLATE_NOOP("SettingsSections", "Changes of commands"),
    "command line": QT_TRANSLATE_NOOP("SettingsSections", "Command line"),
    "telemetry": QT_TRANSLATE_NOOP("SettingsSections", "Telemetry"),
    "project": QT_TRANSLATE_NOOP("SettingsSections", "Project"),
}
"""In the order of the dialog."""


def section_title(section: Section) -> str:
    """Return what a section is called."""
    return QCoreApplication.translate("SettingsSections", str(SECTIONS[section]))
