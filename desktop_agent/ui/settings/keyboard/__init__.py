"""The page of the settings with the keys of every action."""
