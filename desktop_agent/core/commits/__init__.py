"""Commits exactly the agent's selected lines with git. The working tree is never written."""
