"""What to judge next, how sure the order of the runs is, and how much is left to do."""
