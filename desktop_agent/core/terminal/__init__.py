"""A terminal emulator for the user's own terminal and for all program output."""
