"""Sessions put together, opened and listed; and read while another process writes them. No behaviour of their own."""
