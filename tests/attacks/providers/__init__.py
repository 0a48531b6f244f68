"""A model's address that means ill: what it answers ends in bounds, acts on nothing, and gets the key nowhere else."""
