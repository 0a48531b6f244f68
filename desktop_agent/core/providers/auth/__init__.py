"""Authentication: the user's accounts, their keys and sign-ins, and the credentials of MCP servers."""
