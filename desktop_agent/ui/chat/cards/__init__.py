"""What cards of tool calls show below their line: one body for each family of results."""
