"""The sessions of the window: begun, open, listed, searched, read along, sent again; what is typed for them."""
