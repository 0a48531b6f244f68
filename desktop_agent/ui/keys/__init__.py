"""Keys of single parts of the window: which hold, and who tells the parts."""
