"""Output of programs, with its colours and overwritten lines, and the terminal."""
