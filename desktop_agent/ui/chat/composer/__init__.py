"""The composer: the message field, its completions, and the prompts that wait to be sent."""
