"""The view of one diff: painting, search, selection, and decisions about its hunks."""
