"""The usage of all sessions: as plots, and as tables with the same figures."""
