"""The conversation: a transcript that stays fast at any length, and the composer under it."""
