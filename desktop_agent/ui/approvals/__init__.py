"""The dialog that asks the user before a call runs or changes something."""
