"""The first steps of a new user."""
