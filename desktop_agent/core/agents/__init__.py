"""Agents of other programs, which are driven over the Agent Client Protocol."""
