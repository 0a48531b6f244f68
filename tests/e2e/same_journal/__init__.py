"""One conversation through every front end, and the journals."""
