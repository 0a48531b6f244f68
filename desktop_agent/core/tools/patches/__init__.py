"""Patches as models and git write them: parsed, located in the current file, and turned into exact edits."""
