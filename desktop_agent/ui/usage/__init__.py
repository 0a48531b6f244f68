"""The usage of all sessions for the user: as plots to read values from, and as tables with the same figures."""
