"""Simulated collections with complete truth."""
