"""The terminal that the user works in: keys in, a painted screen out."""
