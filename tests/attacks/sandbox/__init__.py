"""Attacks on the sandboxes from inside: each probe tries to reach one thing outside."""
