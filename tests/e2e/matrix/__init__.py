"""The matrix of tool calls: every parameter and every documented error, as rows of a table."""
