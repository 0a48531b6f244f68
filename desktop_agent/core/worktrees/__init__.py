"""Git worktrees for sessions: made, listed, brought back, and moved to a trash."""
