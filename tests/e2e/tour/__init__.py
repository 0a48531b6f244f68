"""A tour through the window: writes the pictures in `docs/images`, and compares them with what the window shows now."""
