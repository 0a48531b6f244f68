"""HTTP clients for models and for web tools: proxies, the certificates that TLS trusts, and size limits of answers.

Importing this package imports no HTTP library.
"""
