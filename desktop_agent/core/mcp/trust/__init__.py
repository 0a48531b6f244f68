"""The definitions of servers' tools that the user allowed, and what differs from them."""
