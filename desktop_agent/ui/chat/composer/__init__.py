"""The composer: the message field, its completions, and the queued prompts."""
