"""Asking a model over HTTP: one provider for every wire format, its connection, and what can go wrong on the way."""
