"""What the model sees: the conversation as messages, the system prompt, and the request made of both."""
