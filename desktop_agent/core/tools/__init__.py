"""Tools: what they are (`tool`), which there are (`access`), and how a call runs (`runtime`)."""
