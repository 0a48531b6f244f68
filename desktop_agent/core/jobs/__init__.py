"""Background commands: started, followed in a log, reported to the fronts, stopped with their session."""
