"""Proofs: what a checker of one file (`verify.py`) needs to verify each claim that an audit calls shown or proven."""
