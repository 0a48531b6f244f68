"""`desktop-agent sessions`: stored sessions, a module for each action or few."""
