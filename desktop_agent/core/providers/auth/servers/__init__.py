"""Credentials of MCP servers at an address, out of the keyring."""
