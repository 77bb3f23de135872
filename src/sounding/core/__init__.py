"""The base of everything else: errors, limits, policies, text for people, files, and parallel work."""
