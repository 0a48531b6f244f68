"""One conversation through every way into the application, and the journals that it leaves."""
