"""`desktop-agent auth`: accounts with providers, their keys and sign-ins."""
