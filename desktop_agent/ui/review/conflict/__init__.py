"""Where an undo or redo meets somebody's edit: the three versions, and what is to become of them."""
