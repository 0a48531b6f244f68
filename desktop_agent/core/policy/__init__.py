"""Decides what is allowed: the workspace boundary, the approval policy, and the reasons that the user reads."""
