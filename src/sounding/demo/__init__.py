"""A complete example on a small simulated collection, and a judging project that needs no files."""
