"""The names in the table of what differs: what to do with a row, and where it lies."""

DIFFERENCE = "idem_difference"
EFFECT = "effect"
NEW = "idem_new"
"""Place of the row in the batch; NULL for rows that the batch lacks."""
OLD, CHILD, WRITER = "idem_old", "idem_child", "idem_writer"
"""Place of the row in the target, the table it lies in, the transaction that wrote it; NULL for new rows."""
