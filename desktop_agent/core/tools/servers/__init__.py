"""The tools of MCP servers as tools of a session: named, described, called, and kept up while servers come and go."""
