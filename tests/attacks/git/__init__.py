"""Repositories that an attacker made: git must read them without running what they name."""
