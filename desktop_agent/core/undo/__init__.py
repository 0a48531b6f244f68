"""Undo and redo: drafted against the files on disk, recorded, then carried out.

`composition` computes what each file is from its first recorded state and the standing changes (ADR 24). `plan` decides
which changes an undo affects, and how much of each is undone afterwards. `draft` turns that into writes: from the
current to the wanted state of a file, merged with the disk. `execute` records and carries them out; `renaming` does so
for a rename by the user. `differences` undoes what a comparison with git shows.

A step (`core/transcript/steps`) records what one undo undid of each change, and what it wrote. It stays open while
anything it undid is still undone; that follows from the journal. An undo that writes a file is always a step: hunks
that are already undone are not undone again. Nothing here depends on a session.
"""
