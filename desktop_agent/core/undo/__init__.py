"""Undo and redo: drafted against the files on disk, recorded, and then carried out.

`plan` decides which changes are affected, `composition` computes the files (ADR 24), `draft` merges them into the disk,
`execute` writes. Nothing here depends on a session.
"""
