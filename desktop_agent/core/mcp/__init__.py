"""MCP servers: define them, start them, call their tools, and end them with every process that they started."""
