"""Random histories of the agent's turns, the user's own writes and what the user presses in the window."""
