"""Tests of MCP servers: definitions, connections, what goes wrong with them."""
