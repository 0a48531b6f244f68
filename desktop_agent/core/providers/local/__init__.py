"""Servers of models on the user's own machine: where they are looked for, and what is found there."""
