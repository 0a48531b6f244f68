"""Accounts in the settings: choosing, adding and removing one, and its key."""
