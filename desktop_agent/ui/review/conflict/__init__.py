"""Conflicts of an undo or redo with later edits: the three versions, and the user's choices."""
