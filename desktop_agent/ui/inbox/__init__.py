"""Everything that waits for the user, across sessions."""
