"""What language servers say of the files that a session's calls change: to the model, and in the review."""
