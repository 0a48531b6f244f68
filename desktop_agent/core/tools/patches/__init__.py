"""Patches as models and git write them: parsed, placed in the file as it is now, and turned into exact edits."""
