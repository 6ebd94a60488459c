"""Steps that stand for one step per policy. Pure."""

from __future__ import annotations

from tests.cases.case import Step


def each_policy(step: Step) -> list[Step]:
    """``on_null: [fail, include, exclude]``: a run with each; the first word has to fail."""
    if not isinstance(step.get("on_null"), list):
        return [step]
    return [
        {**step, "on_null": word, **({"expect": "fail"} if word == "fail" else {"expect": "ok"})}
        for word in step["on_null"]
    ]
