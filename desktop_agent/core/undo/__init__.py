"""Undo and redo: drafted against the files on disk, recorded, and then carried out.

`plan` chooses the changes, `composition` computes the files (ADR 24), `draft` merges, `execute` writes.
"""
