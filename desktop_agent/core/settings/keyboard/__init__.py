"""`[keys]`: which keys do what in the window."""
