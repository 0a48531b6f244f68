"""What folders bring for the agent besides settings: instructions."""
