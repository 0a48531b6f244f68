"""The differences of two versions of a file, and the data to draw them."""
