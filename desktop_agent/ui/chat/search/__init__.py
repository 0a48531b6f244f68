"""Finding text in a conversation."""
