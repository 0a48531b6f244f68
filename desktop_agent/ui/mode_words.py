"""What the agent may do, in words: under each approval policy, in each sandbox, and outside of them all."""

from PySide6.QtCore import QCoreApplication


def _tr(text: str) -> str:
    return QCoreApplication.translate("Modes", text)


def escalation_words() -> str:
    """Return how a call runs that asks to get out of the sandbox."""
    return _tr("Runs outside the sandbox: it may do whatever your account may")
