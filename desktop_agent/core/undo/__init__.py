"""Undo and redo. Each is drafted against the files on disk, recorded, and then carried out.

`composition` computes what each file is from its first recorded state and the standing changes (ADR 24). `plan` decides
which changes an undo affects, and how much of each is undone afterwards. `draft` turns that into writes: the step from
the current to the wanted state of a file is merged into what is on disk. `execute` records and carries them out;
`renaming` does so for a rename by the user. `differences` undoes what a comparison with git shows.

A step (`core/transcript/steps`) records how much of each change one undo undid, and what the undo wrote. The step stays
open as long as any of that is still undone, which the journal tells. An undo that writes a file is always a step,
because hunks that are already undone are not undone again. Nothing here depends on a session.
"""
