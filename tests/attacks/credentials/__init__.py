"""Every credential that a journey uses is looked for in everything that it wrote, said and started."""
