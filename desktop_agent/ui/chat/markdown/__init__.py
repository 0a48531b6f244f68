"""Markdown of untrusted origin as plain data: blocks, rich text and colours. Knows nothing of Qt."""
