"""MCP servers in the settings: how each is, and what can be done with it."""
