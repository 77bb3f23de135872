"""Turn bytes into columns, whole arrays at a time: tokenizer, number parser and hash table."""
