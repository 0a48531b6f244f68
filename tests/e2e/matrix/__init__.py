"""The matrix of tool calls: every parameter and every documented error of every tool, as rows of a table."""
