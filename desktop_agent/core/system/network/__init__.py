"""HTTP clients for models and for web tools: the way to an address, whom TLS trusts, and how much an answer may be.

Importing this package imports no HTTP library.
"""
