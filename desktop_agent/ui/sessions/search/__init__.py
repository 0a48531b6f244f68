"""The search through all sessions: what narrows it down, and the places it found."""

from desktop_agent.ui.sessions.search.panel import SearchPanel

__all__ = ["SearchPanel"]
