"""Child processes: starts them, reads their output, and ends them with all their descendants."""
