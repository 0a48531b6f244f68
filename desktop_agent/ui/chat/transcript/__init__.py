"""The column of a conversation: rows to read, select and act on, which are widgets only near the viewport."""
