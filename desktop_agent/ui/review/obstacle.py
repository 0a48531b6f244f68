"""Why files cannot be changed at the moment, in words."""

from PySide6.QtCore import QCoreApplication


def turn_obstacle(*, is_running: bool) -> str:
    """Return why nothing can be undone, redone or edited while a turn runs; empty when none does."""
    words = QCoreApplication.translate("ReviewPanel", "Wait until the turn has ended, or stop it")
    return words if is_running else ""
