"""What the welcome and the settings share: a field for a key, and the wait for a sign-in."""
