"""Runs and judgments from one format to another."""
