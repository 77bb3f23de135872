"""Paired tests, multiplicity, intervals, rank correlation, scoring of forecasts: arrays in, arrays out."""
