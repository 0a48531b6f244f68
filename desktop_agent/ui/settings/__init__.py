"""Where a user changes how the application works."""

from desktop_agent.ui.settings.dialog import SettingsDialog
from desktop_agent.ui.settings.key_status import KeyCheck, KeyStatus

__all__ = ["KeyCheck", "KeyStatus", "SettingsDialog"]
