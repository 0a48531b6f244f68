"""What is written and not sent, and the conversation before its first prompt."""
