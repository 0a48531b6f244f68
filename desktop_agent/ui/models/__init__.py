"""Choosing who answers: every model of every account, searched by name."""
