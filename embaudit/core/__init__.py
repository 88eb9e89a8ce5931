"""Foundations of all rooms: validation, workers, words, plain values, progress."""
