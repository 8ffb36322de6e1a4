"""Checks for the dataclasses of parameters: ranges, and fields that were removed."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from hebbgraph.errors import ParameterError

__all__ = ["check_positive", "check_range", "former_fields", "no_field_any_more"]

_T = TypeVar("_T")


def check_range(
    parameters: object, names: Iterable[str], low: float, high: float | None = None
) -> None:
    """Raise ParameterError unless these fields lie in [low, high]."""
    for name in names:
        value = getattr(parameters, name)
        if not (value >= low and (high is None or value <= high)):
            bound = f"be at least {low}" if high is None else f"lie in [{low}, {high}]"
            raise ParameterError(f"{name} must {bound}, got {value!r}")


def check_positive(parameters: object, names: Iterable[str]) -> None:
    """Raise ParameterError unless these fields are above 0."""
    for name in names:
        if not getattr(parameters, name) > 0:
            raise ParameterError(f"{name} must be positive, got {getattr(parameters, name)!r}")


def no_field_any_more(name: str) -> str:
    """Return the message for a field that has become a constant."""
    return f"{name} is a constant of the formula now, not a setting; leave it out (CHANGELOG.md)"


def former_fields(*names: str) -> Callable[[type[_T]], type[_T]]:
    """Make a dataclass reject the fields of older versions by name."""

    def decorate(cls: type[_T]) -> type[_T]:
        init = cls.__init__

        @functools.wraps(init)
        def checked(self: _T, *args: Any, **fields: Any) -> None:
            if removed := sorted(fields.keys() & set(names)):
                raise ParameterError(f"{cls.__name__}: {no_field_any_more(removed[0])}")
            init(self, *args, **fields)

        setattr(cls, "__init__", checked)  # noqa: B010
        return cls

    return decorate
