"""What the bytes of a file mean: compression, JSON Lines, Arrow and Parquet. Knows no store and no database."""
