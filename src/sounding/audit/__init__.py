"""The collection itself: how its pool was made, what it holds, and how far it can be trusted."""
