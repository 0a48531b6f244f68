"""The conversations a user can come back to."""

from desktop_agent.ui.sessions.groups import Arrangement
from desktop_agent.ui.sessions.panel import SessionList

__all__ = ["Arrangement", "SessionList"]
