"""Child processes: started, read, and ended with everything they started, on pipes or on a terminal."""
