"""Untrusted markdown as plain data: blocks, rich text and colours. Does not depend on Qt."""
