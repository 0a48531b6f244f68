"""Access tokens that are renewed: where they are kept, who renews them, and what a service says about that.

Importing this package imports no HTTP client and no keyring.
"""
