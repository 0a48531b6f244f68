"""The column of a conversation: rows to read, select and act on, with widgets only near the viewport."""
