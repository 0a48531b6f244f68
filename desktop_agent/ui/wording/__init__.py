"""How text is shown: no invisible characters, readable times and folders, modes in words."""
