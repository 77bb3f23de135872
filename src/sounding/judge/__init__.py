"""Run the server on which people develop topics and judge documents."""
