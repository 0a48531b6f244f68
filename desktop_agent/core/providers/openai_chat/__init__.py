"""OpenAI's Chat Completions, which most vendors and local servers are compatible with."""
