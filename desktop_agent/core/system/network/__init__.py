"""HTTP clients for models and for web tools: how an address is reached, whom TLS trusts, and size limits of answers.

Importing this package imports no HTTP library.
"""
