"""Model providers: one protocol, one module per wire format, and the scripted demo model that ships.

Importing this package imports no SDK; a provider's module imports its own when it is built.
"""
