"""Several assessors of the same documents: how far they agree, and what that does to an evaluation."""
