"""Orders, as they are delivered day by day."""

from __future__ import annotations

from pathlib import Path

DELIVERED = {"2025-05-01": "1,10,a\n2,20,b\n", "2025-05-02": "3,30,c\n", "2025-05-03": "4,40,d\n"}
"""Three days of orders: id, amount, note."""


def deliver(inbox: Path, day: str, rows: str) -> None:
    """Write the file of a day, in place of the one that may be there."""
    (inbox / day).mkdir(parents=True, exist_ok=True)
    lines = "".join(f"{line},{day}\n" for line in rows.splitlines())
    (inbox / day / "orders.csv").write_text(f"order_id,amount,note,order_date\n{lines}")
