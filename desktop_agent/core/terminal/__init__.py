"""A terminal without a window: a screen, its history, answers to programs; and what a printed text says in the end."""
