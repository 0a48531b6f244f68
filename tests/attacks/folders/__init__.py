"""Folders with untrusted contents: opened, searched, edited and undone without touching anything outside."""
