"""One version made of several: three-way merges, hunks taken out, and what the user typed as exact bytes."""
