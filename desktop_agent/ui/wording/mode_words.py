"""What the agent may do, in words: under each approval policy, in each sandbox, and outside of them all."""

from PySide6.QtCore import QCoreApplication

from desktop_agent.core.protocol.model import ApprovalPolicy, SandboxMode

POLICIES: tuple[ApprovalPolicy, ...] = ("always", "on_write", "on_request", "never")
MODES: tuple[SandboxMode, ...] = ("restricted", "strict", "none")
"""Named here once more: the window is painted before the core is imported."""


def _tr(text: str) -> str:
    return QCoreApplication.translate("Modes", text)


def escalation_words() -> str:
    """Return how a call runs that asks to get out of the sandbox."""
    return _tr("Runs outside the sandbox: it may do whatever your account may")


def approval_words(policy: ApprovalPolicy) -> tuple[str, str]:
    """Return what a policy is called, and what it comes to."""
    match policy:
        case "always":
            return _tr("Asks before every call"), _tr("Reading, too, waits for your yes.")
        case "on_write":
            explanation = _tr("Reading is free. Edits, commands that may change something, and the network ask.")
            return _tr("Asks before writing"), explanation
        case "on_request":
            explanation = _tr("Edits in this folder and confined commands are free. The agent asks when it wants more.")
            return _tr("Asks to leave the sandbox"), explanation
        case "never":
            return _tr("Never asks"), _tr("Nothing is asked: what would need a yes is refused.")


def sandbox_words(mode: SandboxMode) -> tuple[str, str]:
    """Return what a sandbox is called, and what it comes to."""
    match mode:
        case "restricted":
            explanation = _tr("Commands may write this folder and a temporary one of their own. No network.")
            return _tr("Sandbox: this folder"), explanation
        case "strict":
            return _tr("Sandbox: read-only"), _tr("Commands may write nothing. No network.")
        case "none":
            return _tr("No sandbox"), _tr("Commands can do whatever your account can.")


def short_words(mode: str) -> str:
    """Return what a policy or sandbox is called where there is little room."""
    match mode:
        case "always":
            return _tr("Asks always")
        case "on_write":
            return _tr("Asks to write")
        case "on_request":
            return _tr("Asks to leave")
        case "never":
            return _tr("Never asks")
        case "restricted":
            return _tr("This folder")
        case "strict":
            return _tr("Read-only")
        case _:
            return _tr("No sandbox")
