"""What everything rests on: errors, limits, policies, text for people, files, and parallel work."""
