"""A text shown exactly: nothing hidden in it, and allowed only once all of it was in sight."""
