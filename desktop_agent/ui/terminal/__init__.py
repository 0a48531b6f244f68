"""The output of programs: its colours and overwritten lines, read without a terminal."""
