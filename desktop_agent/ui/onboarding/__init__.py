"""What a user sees first."""
