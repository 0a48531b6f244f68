"""What serves the message field: what can be mentioned, what was pasted, and how contents in it look."""
