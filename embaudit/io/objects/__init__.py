"""Models that are objects in memory."""
