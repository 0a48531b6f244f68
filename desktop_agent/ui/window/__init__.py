"""The main window, its bars, the windows beside it, and the controllers that connect panels with a session."""
