"""How results look: one table writer, HTML, and the style of charts."""
