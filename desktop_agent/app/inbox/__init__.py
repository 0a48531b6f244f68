"""Finds what waits for the user in all sessions, and tells them when they are elsewhere."""
