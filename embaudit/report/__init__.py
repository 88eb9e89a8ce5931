"""Reports for people: summaries of plain values, on a terminal, a page or as JSON."""
