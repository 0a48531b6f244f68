"""Child processes: started, listened to, ended with everything they started, on pipes or on a terminal."""
