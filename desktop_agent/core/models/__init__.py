"""Data about models and those who offer them: vendors, abilities, prices. Uses no network."""
