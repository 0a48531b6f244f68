"""One widget for each kind of transcript entry, made by `transcript.factory` for entries near the eye.

An entry holds no truth: it draws what the transcript says, and emits what the user does by the `EntryActions` of its
transcript.
"""
