"""The conversations a person can come back to."""

from desktop_agent.ui.sessions.panel import SessionList

__all__ = ["SessionList"]
