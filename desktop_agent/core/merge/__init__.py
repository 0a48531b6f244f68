"""Merging: three-way merges, removal of hunks, and the exact bytes of what the user typed."""
