"""Proxies in the environment: what reaches them, and what is reported of them."""
