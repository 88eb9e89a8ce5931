"""Validation, workers, words, plain values and progress, for all subpackages."""
