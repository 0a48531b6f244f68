"""Undo and redo: planned, drafted against the files as they are now, written down and carried out.

`composition` says what each file is: what the standing changes make of its first recorded state (ADR 24). `plan` says
which changes an undo is about, and how much of each is undone afterwards. `draft` turns that into writes: from what a
file is to what it shall be, merged with the disk. `execute` records them and carries them out; `renaming` does so for a
rename by the user. `differences` undoes what a comparison with git shows.

A step (`core/transcript/steps`) is what one undo undid of each change, and what it wrote. It is open while anything
that it undid is still undone; that follows from the journal. An undo that writes a file is always a step: hunks that
are already undone are not undone again. Nothing here knows a session.
"""
