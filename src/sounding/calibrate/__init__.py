"""How often what we say for certain is right, and the chance that a conclusion holds."""
