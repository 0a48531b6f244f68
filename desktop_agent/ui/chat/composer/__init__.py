"""Where a prompt is written: the field, what it offers, and what waits to be sent."""
