"""HTTP clients for models and web tools: proxies, TLS certificates, and size limits of answers.

Importing this package imports no HTTP library.
"""
