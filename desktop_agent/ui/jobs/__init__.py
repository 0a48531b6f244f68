"""Jobs: the background commands of the session, and the way to end them."""
