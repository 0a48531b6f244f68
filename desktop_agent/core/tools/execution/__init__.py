"""How a call is carried out: confined, its files kept, written down, captured, answered."""
