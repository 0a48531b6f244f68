"""The command palette: the application's actions and content, found by a few letters."""
