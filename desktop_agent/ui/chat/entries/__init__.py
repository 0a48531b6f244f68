"""One widget for each kind of transcript entry. They exist only for entries near the eye."""
