"""What the model sees, for a user: the parts of the next request, the summary, the pins."""
