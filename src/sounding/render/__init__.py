"""Claims to pages: what people and programs get to see."""
