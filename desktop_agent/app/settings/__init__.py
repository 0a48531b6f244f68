"""The settings while the window is open: set up, followed, applied."""
