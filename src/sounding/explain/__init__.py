"""What can be measured: names, parameters, definitions."""
