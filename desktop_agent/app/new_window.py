"""Another window: a process of its own, so that nothing that goes wrong in one is felt in the other."""

import sys

from PySide6.QtCore import QProcess

from desktop_agent.core.base.errors import AgentError


def open_window(*arguments: str) -> None:
    """Start the application once more, with these arguments of its command line.

    Raises `AgentError` when the system starts no more processes.
    """
    started, _ = QProcess.startDetached(sys.executable, ["-P", "-m", "desktop_agent", *arguments], "")
    if not started:
        raise AgentError("The new window could not be started.", hint="Close other programs, and try again.")
