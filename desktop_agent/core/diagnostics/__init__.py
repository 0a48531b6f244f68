"""What language servers say about the files that a session's calls change, for the model and the review."""
