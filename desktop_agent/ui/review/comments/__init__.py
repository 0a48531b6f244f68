"""Comments on lines of a diff: written, shown where they stand, sent to the agent."""
