"""What all sessions used, for a user: plots to read values from, and the same figures as tables."""
