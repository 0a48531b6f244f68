"""Mentions: references with `@` in a prompt, and the content that they add to the conversation."""
