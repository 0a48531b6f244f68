"""Who asks: the accounts of the user, their keys and sign-ins, and the credentials of MCP servers."""
