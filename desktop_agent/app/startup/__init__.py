"""From the start of the process to the complete window, and its daily upkeep."""
