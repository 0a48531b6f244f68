"""Proxies that the environment names: what reaches them, and what is reported of them."""
