"""The vocabulary that everything shares: data, events and their form in JSON, ops."""
