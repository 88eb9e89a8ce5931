"""What every room stands on: validation, workers, words, plain values, progress."""
