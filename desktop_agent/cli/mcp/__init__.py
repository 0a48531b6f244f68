"""`desktop-agent mcp`: the MCP servers of the user, and whether they work."""
