"""Finds a function by its name, and calls it with the arguments that it asks for."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from airflow_idempotent.errors import PythonSourceError, PythonSourceFailedError
from airflow_idempotent.spec.words import meant


def call(name: str, offered: Mapping[str, Any], given: Mapping[str, Any], *, table: str, partition: str) -> Any:
    """What ``module:function`` returns for a partition.

    Of ``offered`` it gets what it names; of ``given``, the kwargs of the spec, it gets all.

    Raises:
        PythonSourceError: it cannot be imported, or not be called so.
        PythonSourceFailedError: it raised an error.
    """
    where = {"table": table, "partition": partition, "function": name}
    try:
        function = found(name)
        arguments = wanted(function, offered, given)
    except ValueError as error:
        raise PythonSourceError(**where, reason=str(error)) from error
    try:
        return function(**arguments)
    except Exception as error:
        if is_airflows(error):
            raise
        raise PythonSourceFailedError(**where, reason=f"raised {described(error)}") from error


def found(name: str) -> Any:
    """The function of that name.

    Raises:
        ValueError: there is none, or its module cannot be imported.
    """
    module_name, _, path = name.partition(":")
    try:
        place: Any = import_module(module_name)
    except Exception as error:
        raise ValueError(f"cannot be imported ({described(error)})") from error
    for part in path.split("."):
        if not hasattr(place, part):
            near = meant(part, [item for item in dir(place) if not item.startswith("_")])
            raise ValueError(f"does not exist: {module_name} has no {path!r}{near}")
        place = getattr(place, part)
    if not callable(place):
        raise ValueError(f"is no function but {type(place).__name__}")
    if inspect.iscoroutinefunction(place) or inspect.isasyncgenfunction(place):
        raise ValueError("is async: write a function that yields rows")
    return place


def wanted(function: Any, offered: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The keyword arguments of a call.

    Raises:
        ValueError: the function takes no such argument, or wants more than there is.
    """
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # written in C: it will say so itself
        return dict(given)
    named = {item.name for item in parameters if item.kind in (item.KEYWORD_ONLY, item.POSITIONAL_OR_KEYWORD)}
    takes_all = any(item.kind is item.VAR_KEYWORD for item in parameters)
    if unknown := [name for name in given if name not in named and not takes_all]:
        raise ValueError(f"takes no argument {unknown[0]!r}{meant(unknown[0], named)}")
    values = {name: value for name, value in {**offered, **given}.items() if takes_all or name in named}
    missing = [
        item.name
        for item in parameters
        if item.default is item.empty
        and item.kind not in (item.VAR_KEYWORD, item.VAR_POSITIONAL)
        and (item.name not in values or item.kind is item.POSITIONAL_ONLY)
    ]
    if missing:
        known = ", ".join([*offered, *given])
        raise ValueError(f"wants an argument {missing[0]!r}{meant(missing[0], offered)} (there are {known})")
    return values


def is_airflows(error: BaseException) -> bool:
    """Whether it is a word to Airflow, like AirflowSkipException; Airflow is never imported here."""
    return any(kind.__module__.partition(".")[0] == "airflow" for kind in type(error).__mro__)


def described(error: BaseException) -> str:
    """Kind and first line of an error; the rest may hold rows."""
    text = (str(error).strip().splitlines() or [""])[0]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
