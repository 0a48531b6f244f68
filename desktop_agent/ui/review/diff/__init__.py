"""One diff: painting, search, selection, and decisions about its hunks."""
