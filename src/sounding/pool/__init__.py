"""What to judge: pools, budgets and samples, and what they will cost and cover."""
