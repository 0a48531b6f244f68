"""The vocabulary that everything shares: data, events, ops, and their form in JSON."""
