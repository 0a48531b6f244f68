"""Sign-ins of other programs on this machine: that they are there, and why they are not used. None of them is read."""

import os
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct


class OtherSignIn(Struct, frozen=True, kw_only=True):
    """A sign-in that another program keeps, with what to tell the user about it."""

    program: str
    why_not: str
    instead: str


_CODEX = OtherSignIn(
    program="Codex",
    why_not="Codex is signed in with ChatGPT on this machine. Its tokens can be used once each: another program that "
    "uses them signs Codex out.",
    instead="Sign in with ChatGPT here as well. It uses the same plan, and Codex stays signed in.",
)
_CLAUDE_CODE = OtherSignIn(
    program="Claude Code",
    why_not="Claude Code is signed in on this machine. Anthropic does not permit other applications to use the sign-in "
    "of a Claude subscription, so it is not read.",
    instead="Use an API key, or a profile of Anthropic's own tools (`ant auth login`).",
)


def other_sign_ins(environ: Mapping[str, str] = os.environ) -> tuple[OtherSignIn, ...]:
    """Return those that are there. Looks whether files exist, which blocks; never raises."""
    codex = Path(environ.get("CODEX_HOME") or Path.home() / ".codex") / "auth.json"
    claude = Path(environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude") / ".credentials.json"
    return tuple(sign_in for file, sign_in in ((codex, _CODEX), (claude, _CLAUDE_CODE)) if _exists(file))


def _exists(file: Path) -> bool:
    try:
        return file.is_file()
    except OSError:
        return False
