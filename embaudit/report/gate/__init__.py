"""The gate of a release: which findings stop it, and how forges are told."""
