"""Give other tools these answers: ir_measures, PyTerrier, pytest, and trackers of experiments.

Nothing is imported here, because each module needs the package that it is named after.
"""
