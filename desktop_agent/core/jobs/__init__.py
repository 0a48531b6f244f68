"""Background commands: started, followed in a log, told to the fronts, stopped with their session."""
