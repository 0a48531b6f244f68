"""Anthropic's Messages API: how requests are written and answers read. Knows no connection and no key."""
