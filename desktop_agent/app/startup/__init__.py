"""From the start of the process to a window that is complete, and what it does once a day."""
