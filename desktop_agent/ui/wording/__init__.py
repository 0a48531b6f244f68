"""How text is shown: nothing of it invisible, times and folders as people write them, modes in words."""
