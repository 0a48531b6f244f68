"""Searches for every credential of a journey in all its files, output and child processes."""
