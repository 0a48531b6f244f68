"""The sessions of the window: opening, listing, searching and following them, and their drafts."""
