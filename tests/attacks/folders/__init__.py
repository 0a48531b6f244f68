"""Folders that somebody else filled: opened, searched, edited and undone, with nothing outside touched."""
