"""The conversations a user can come back to."""
