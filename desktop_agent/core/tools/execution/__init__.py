"""Carries out calls: decides, approves, confines, records, captures and answers them."""
