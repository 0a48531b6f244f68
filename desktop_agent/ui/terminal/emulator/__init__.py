"""What a terminal does with what is printed to it: a screen, its history, and the answers that programs may ask for."""
