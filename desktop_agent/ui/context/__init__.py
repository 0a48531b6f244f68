"""What the model sees, for a person: the parts of the next request, the summary, the pins."""
