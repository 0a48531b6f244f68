"""The conversation: the transcript, which stays fast at any length, and the composer below it."""
