"""The sessions of the window: started, open, listed, searched, followed and resent, and their drafts."""
