"""The vocabulary that everything shares: data, events and their JSON form, and ops."""
