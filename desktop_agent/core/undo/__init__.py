"""Undo and redo: drafted against the files on disk, recorded, and then carried out.

`plan` decides which changes an undo affects, and how much of each is undone afterwards. `composition` computes a file
from its first recorded state and the standing changes (ADR 24). `draft` merges the result into the files on disk, and
`execute` records and writes it. `renaming` renames files for the user, and `differences` undoes differences from a
commit.

A step (`core/transcript/steps`) records how much of each change one undo undid. It stays open while any of that is
still undone. Nothing here depends on a session.
"""
