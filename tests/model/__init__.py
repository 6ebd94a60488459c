"""What the strategies mean, in plain Python: dicts and comparisons, no SQL."""
