"""The column of a conversation: rows of which only those near the eye exist, to read, select and act on."""
