"""What is taken as a time, and what is not."""

from datetime import UTC, date, datetime, timedelta, timezone

import pytest

from hebbgraph import Chunk, InvalidChunkError
from hebbgraph.moments import FIRST, LAST, as_moment, microseconds


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("2024", datetime(2024, 1, 1, tzinfo=UTC)),
        ("2024-05", datetime(2024, 5, 1, tzinfo=UTC)),
        (" 2024-05-17 ", datetime(2024, 5, 17, tzinfo=UTC)),
        ("2024-05-17T09:30:00.000001Z", datetime(2024, 5, 17, 9, 30, 0, 1, tzinfo=UTC)),
        ("2024-05-17T09:30-03:00", datetime(2024, 5, 17, 12, 30, tzinfo=UTC)),
        (date(2024, 5, 17), datetime(2024, 5, 17, tzinfo=UTC)),
        (datetime(2024, 5, 17, 9), datetime(2024, 5, 17, 9, tzinfo=UTC)),
        (
            datetime(2024, 1, 1, tzinfo=timezone(timedelta(hours=2))),
            datetime(2023, 12, 31, 22, tzinfo=UTC),
        ),
        ("0001-01-01", datetime(1, 1, 1, tzinfo=UTC)),
        ("9999-12-31T23:59:59.999999", datetime.max.replace(tzinfo=UTC)),
    ],
)
def test_one_instant_in_utc(given: object, meant: datetime) -> None:
    assert as_moment(given) == meant
    assert FIRST < microseconds(meant) < LAST


@pytest.mark.parametrize(
    "given",
    [
        "2024-02-30", "yesterday", "", "0000-01-01", "10000-01-01", "-0044-03-15", "2024-13",
        "0001-01-01T00:00+05:00", "9999-12-31T23:00-05:00", "17/05/2024", "٢٠٢٤",
    ],
)  # fmt: skip
def test_no_time_is_refused_with_what_fits(given: str) -> None:
    with pytest.raises(ValueError, match=r"is no time"):
        as_moment(given)
    with pytest.raises(InvalidChunkError, match=r"chunk 'a': valid_from: .*is no time"):
        Chunk.coerce({"id": "a", "text": "x", "valid_from": given})


@pytest.mark.parametrize("given", [2024, 1.7e9, True, b"2024", ["2024"]])
def test_numbers_are_not_guessed_at(given: object) -> None:
    with pytest.raises(ValueError, match=r"fromtimestamp"):
        as_moment(given)


@pytest.mark.parametrize("until", ["2023-12-31", "2024-01-01", "2024-01-01T01:00+01:00"])
def test_a_text_ends_after_it_begins(until: str) -> None:
    with pytest.raises(InvalidChunkError, match="must lie after valid_from"):
        Chunk.coerce({"text": "x", "valid_from": "2024", "valid_until": until})
