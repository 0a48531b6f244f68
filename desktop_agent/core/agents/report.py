"""What a test of an agent found."""

from msgspec import Struct


class AgentReport(Struct, frozen=True, kw_only=True):
    agent: str = ""
    """What it calls itself; empty if it did not answer."""
    version: str = ""
    abilities: tuple[str, ...] = ()
    modes: tuple[str, ...] = ()
    mode: str = ""
    """The id of the mode that is set in sessions here."""
    sign_ins: tuple[str, ...] = ()
    problem: str = ""
    hint: str = ""
    detail: str = ""
    needs_sign_in: bool = False
