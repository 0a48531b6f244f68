"""OpenAI's Responses, stateless: nothing of a conversation stays at the vendor, and thinking travels encrypted."""
