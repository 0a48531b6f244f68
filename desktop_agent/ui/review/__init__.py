"""Review: what the agent changed, as a list of files and a diff, with undo and redo."""
