"""One widget for each kind of transcript entry, made by `transcript.factory` for entries near the viewport.

Entries draw the transcript and report user actions through their transcript's `EntryActions`.
"""
