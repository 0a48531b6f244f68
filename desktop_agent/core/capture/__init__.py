"""What a command changed: the folder walked before and after it, and copies of what it may destroy."""
