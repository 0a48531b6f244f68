"""Undo and redo: planned, drafted against the files as they are now, written down and carried out."""
