"""The main window, its bars and the windows beside it, and what connects panels with a session."""
