"""Three-way merges, removal of hunks from a file, and the exact bytes of edited text."""
