"""Folders with untrusted contents: opened, searched, edited and undone, with nothing outside touched."""
