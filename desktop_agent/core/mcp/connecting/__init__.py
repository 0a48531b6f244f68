"""The life of one server, and one life of each for all sessions of a folder."""
