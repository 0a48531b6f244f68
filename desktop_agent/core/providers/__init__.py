"""Model providers: one protocol, one module per wire format, and the scripted demo model that ships.

Importing this package imports no HTTP client; a provider imports it at its first request.
"""
