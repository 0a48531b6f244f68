"""One widget for each kind of transcript entry, made by `transcript.factory` for entries near the viewport.

An entry is not a source of truth: it draws what the transcript says, and reports user actions through the
`EntryActions` of its transcript.
"""
