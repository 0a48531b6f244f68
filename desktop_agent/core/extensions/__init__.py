"""What folders bring for the agent besides settings: instructions, skills, and hooks, which are commands."""
