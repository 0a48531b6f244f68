"""The user's terminal: their shell in the open folder, started, shown and ended."""
