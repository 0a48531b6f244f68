"""One diff: painted, searched, selected, and its hunks decided about."""
