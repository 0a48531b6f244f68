"""A hostile model server: its answers end in bounds, trigger nothing, and the key goes nowhere else."""
