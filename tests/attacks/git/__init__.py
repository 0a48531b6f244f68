"""Repositories by an attacker: git must read them without running their programs."""
