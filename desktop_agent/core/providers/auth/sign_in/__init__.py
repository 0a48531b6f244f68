"""Signing in with a service in the browser: OAuth 2 for programs on a desktop, as RFC 8252 and RFC 7636 have it.

Importing this package imports no HTTP client and opens nothing.
"""
