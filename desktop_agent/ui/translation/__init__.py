"""The language of the window."""
