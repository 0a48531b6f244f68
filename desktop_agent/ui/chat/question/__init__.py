"""The question about a tool call, on a card in the conversation."""
