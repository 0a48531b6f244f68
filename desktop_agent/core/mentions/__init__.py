"""Mentions: what a prompt points at with `@`, and what they bring into the conversation."""
