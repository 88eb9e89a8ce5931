"""Arrays only, no models: rows, passes, moments, neighbours, tallies."""
