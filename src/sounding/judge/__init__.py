"""The judging server: people develop topics, judge what the algorithm picks, and watch the ranking settle."""
