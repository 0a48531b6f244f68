"""What programs print: its colours and overwritten lines, read without a terminal."""
