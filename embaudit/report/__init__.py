"""Reports for people: a summary of plain values, rendered by pure functions to a terminal, a page or JSON."""
