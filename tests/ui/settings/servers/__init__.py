"""Tests of MCP servers in the settings dialog."""
