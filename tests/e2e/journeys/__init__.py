"""One session with several vendors in turn, through all three wire formats, on our servers and on others'."""
