"""A judging project that needs no files: the documentation of Python's own library, our topics, our runs."""
