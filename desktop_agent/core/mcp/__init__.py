"""Servers of tools that speak the Model Context Protocol: defined, started, asked, ended with all that they started."""
