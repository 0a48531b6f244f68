"""`desktop-agent batch`: many runs, each with one result."""
