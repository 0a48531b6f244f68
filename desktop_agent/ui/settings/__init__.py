"""Where a user changes how the application works."""
