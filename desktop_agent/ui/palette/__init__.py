"""The command palette: what the application can do and show, found by a few letters."""
