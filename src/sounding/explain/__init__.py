"""List all measures, or explain some: names, parameters, definitions."""
