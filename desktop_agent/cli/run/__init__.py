"""`desktop-agent run`: prompts without a window."""
