"""Real agents of other programs, each asking a model server on this machine."""
