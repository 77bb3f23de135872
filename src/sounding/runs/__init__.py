"""What runs retrieved: order and ties, one numbering of documents, who was pooled and how deep."""
