"""Keys in our environment reach no child process, and no process that we start outlives us."""
