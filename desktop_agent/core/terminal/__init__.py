"""A terminal without a window: a screen, its history, answers to programs, and the text that an output comes to."""
