"""The gate of a release: which findings of an audit stop it, and how forges are told."""
