"""Information-retrieval evaluation that says how far each score can be trusted."""
