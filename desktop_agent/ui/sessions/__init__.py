"""The saved conversations."""
