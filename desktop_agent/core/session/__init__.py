"""One conversation: its mailbox, its turns, what is recorded of it, and how it is opened again."""
