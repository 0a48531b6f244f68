"""Background commands: started, followed in a log, reported to the front ends, stopped with their session."""
