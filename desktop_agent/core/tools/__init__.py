"""Tools: what they are (`spec`), which there are (`registry`), and how a call runs (`runtime`)."""
