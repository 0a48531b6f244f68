"""Slash commands: a line that begins with `/` is run locally and at once, not sent to the model."""
