"""Servers that are reached by HTTP, and signing in with them."""
