"""Estimate how likely an unjudged document is relevant: priors and the fitted model."""
