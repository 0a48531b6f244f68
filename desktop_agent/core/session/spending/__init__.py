"""What a session spent, and what it may spend before the user is asked."""
