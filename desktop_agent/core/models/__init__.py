"""What is known about models and those who offer them, as data: vendors, abilities, prices. Knows no network."""
