"""Git's data about a folder: its status, its files and its refs. Restores lost refs."""
