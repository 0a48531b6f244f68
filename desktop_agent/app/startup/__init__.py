"""The start, from the process to the complete window, and the daily cleanup."""
