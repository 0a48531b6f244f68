"""The journal of one session: the format of its lines, and reading, writing and following them."""
