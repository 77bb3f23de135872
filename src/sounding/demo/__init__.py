"""Show a complete example on a small simulated collection, or a judging server."""
