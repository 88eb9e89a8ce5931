"""Proofs of audits, and the checker of one file (`verify.py`) that needs nothing else of the package."""
