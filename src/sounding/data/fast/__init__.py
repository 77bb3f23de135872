"""How bytes become columns, whole arrays at a time: tokenizer, number parser and hash table."""
