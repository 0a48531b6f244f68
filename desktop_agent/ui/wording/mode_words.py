"""What the agent may do, in words: under each approval policy, in each sandbox, and outside of them all."""

from PySide6.QtCore import QCoreApplication

from desktop_agent.core.protocol.model import ApprovalPolicy, SandboxMode

_POLICIES: dict[ApprovalPolicy, tuple[str, str, str]] = {
    "always": ("Asks before every call", "Asks always", "Reading, too, waits for your yes."),
    "on_write": (
        "Asks before writing",
        "Asks to write",
        "Reading is free. Edits, commands that may change something, and the network ask.",
    ),
    "on_request": (
        "Asks to leave the sandbox",
        "Asks to leave",
        "Edits in this folder and confined commands are free. The agent asks when it wants more.",
    ),
    "never": ("Never asks", "Never asks", "Nothing is asked: what would need a yes is refused."),
}
_MODES: dict[SandboxMode, tuple[str, str, str]] = {
    "restricted": (
        "Sandbox: this folder",
        "This folder",
        "Commands may write this folder and a temporary one of their own. No network.",
    ),
    "strict": ("Sandbox: read-only", "Read-only", "Commands may write nothing. No network."),
    "none": ("No sandbox", "No sandbox", "Commands can do whatever your account can."),
}
"""What each is called, also where there is little room, and what it comes to."""

POLICIES = tuple(_POLICIES)
MODES = tuple(_MODES)
"""Named here once more: the window is painted before the core is imported."""


def _tr(text: str) -> str:
    return QCoreApplication.translate("Modes", text)


def escalation_words() -> str:
    """Return how a call runs that asks to get out of the sandbox."""
    return _tr("Runs outside the sandbox: it may do whatever your account may")


def approval_words(policy: ApprovalPolicy) -> tuple[str, str]:
    """Return what a policy is called, and what it comes to."""
    name, _, explanation = _POLICIES[policy]
    return _tr(name), _tr(explanation)


def sandbox_words(mode: SandboxMode) -> tuple[str, str]:
    """Return what a sandbox is called, and what it comes to."""
    name, _, explanation = _MODES[mode]
    return _tr(name), _tr(explanation)


def short_words(mode: str) -> str:
    """Return what a policy or sandbox is called where there is little room."""
    words: dict[str, tuple[str, str, str]] = {**_POLICIES, **_MODES}
    return _tr(words[mode][1])
