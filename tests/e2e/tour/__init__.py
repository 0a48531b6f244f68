"""A tour through the window: writes the pictures in `docs/images`, or compares them with the window."""
