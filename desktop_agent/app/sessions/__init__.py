"""The sessions of the window: open, listed, searched, read along, exchanged, sent again."""
