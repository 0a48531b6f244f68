"""The tools of MCP servers as tools of a session: named, described, called, and kept up to date."""
