"""Twenty kinds of facts in three invented towns each, reworded in each version.

Each town has its own fact, so a question names its subject.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from hebbgraph import Chunk

__all__ = ["TimedQuestion", "documents", "timed_questions"]


class _Kind(NamedTuple):
    """What changes, the wording of each version, and the question."""

    name: str
    question: str
    sentences: tuple[str, str, str, str]
    values: tuple[str, ...]


class TimedQuestion(NamedTuple):
    """A question, and the document it is about.

    ``as_of`` is the day whose version is right, ``number`` the place of that version, and
    ``says_when`` whether the question itself names the time.
    """

    text: str
    document: str
    as_of: str
    number: int
    says_when: bool


_NAMES = """
Aldermere Brannoch Cairnholt Dunmarrow Eskerry Farrowby Glimsund Harrowquay Inverlode Jorvale
Kestrelby Lunnaskerry Merridene Norrland Ostrandby Penhallow Quernmoor Ravensey Skerrowick
Tesselby Ulvermouth Vellmark Wexcombe Yarrowdale Zennick Ambleskar Birkhaven Coldstrand
Dreavemoor Elvenholm Fennimore Graywick Hesselgrave Idlesea Jedborough Kirkwall-on-Lode Larkholm
Mossgard Netherbay Oakenshore Pellworth Quayside Rushmarsh Stormness Thornwick Underfell
Varnmouth Whinlatter Yewbarrow Arkwell Blackmarsh Copperhill Drumloch Eastmoor Fallowsea
Gannetry Hollowmere Islebridge Juniper Knapdale
"""
_TOWNS = _NAMES.split()
_PLACES = 3
#: Days on which versions become valid; a document has the first two to four of a row.
_SINCE = (
    ("2009-04-01", "2013-10-15", "2018-01-01", "2023-06-30"),
    ("2011-01-01", "2016-05-20", "2020-09-01", "2024-02-29"),
    ("2007-07-07", "2012-12-12", "2019-03-03", "2022-11-11"),
)
_KINDS = (
    _Kind("ferry fare", "What does a crossing with the {town} ferry cost?", (
        "A crossing with the {town} ferry costs {v} crowns.",
        "The {town} ferry takes {v} crowns for a crossing.",
        "Passengers of the {town} ferry pay {v} crowns a crossing.",
        "For {v} crowns the {town} ferry carries one person across.",
    ), ("four", "five", "seven", "nine")),
    _Kind("harbour warden", "Who is the harbour warden of {town}?", (
        "The harbour warden of {town} is {v}.",
        "{v} was appointed harbour warden of {town}.",
        "As harbour warden of {town}, {v} keeps the berths.",
        "{v} serves {town} as harbour warden.",
    ), ("Ida Moss", "Olav Renn", "Berit Sand", "Tomas Quell")),
    _Kind("library hours", "Until when is the library of {town} open?", (
        "The library of {town} is open until {v} o'clock.",
        "Readers may stay in the library of {town} until {v} o'clock.",
        "The library of {town} closes its doors at {v} o'clock.",
        "At {v} o'clock the library of {town} closes for the day.",
    ), ("five", "six", "eight", "seven")),
    _Kind("speed limit", "How fast may one drive on the coast road of {town}?", (
        "On the coast road of {town} one may drive {v} kilometres an hour.",
        "The coast road of {town} allows {v} kilometres an hour.",
        "Whoever drives faster than {v} on the coast road of {town} is fined.",
        "Signs on the coast road of {town} show {v} kilometres an hour.",
    ), ("ninety", "eighty", "seventy", "fifty")),
    _Kind("fishing quota", "How many cod may a boat of {town} land in a week?", (
        "A boat of {town} may land {v} boxes of cod in a week.",
        "The cod quota of {town} is {v} boxes a week for each boat.",
        "Boats of {town} are held to {v} boxes of cod a week.",
        "Each week, {v} boxes of cod are allowed to a boat of {town}.",
    ), ("forty", "thirty", "eighteen", "twelve")),
    _Kind("market day", "On which day is the market of {town} held?", (
        "The market of {town} is held on {v}.",
        "{v} is market day in {town}.",
        "Farmers come to the market of {town} every {v}.",
        "The square of {town} is closed on {v} for the market.",
    ), ("Monday", "Thursday", "Saturday", "Tuesday")),
    _Kind("lamp", "What lights the lighthouse of {town}?", (
        "The lighthouse of {town} burns {v}.",
        "Its keepers light the lighthouse of {town} with {v}.",
        "The beam of the {town} lighthouse comes from {v}.",
        "The lighthouse of {town} was fitted with {v}.",
    ), ("whale oil", "paraffin", "a carbon arc", "diodes")),
    _Kind("school head", "Who leads the school of {town}?", (
        "The school of {town} is led by {v}.",
        "{v} became head of the school of {town}.",
        "Under {v}, the school of {town} teaches in two shifts.",
        "Head of the school of {town} is {v}.",
    ), ("Ansel Rook", "Minna Vold", "Per Halloran", "Signe Bright")),
    _Kind("water tariff", "What does a cubic metre of water cost in {town}?", (
        "A cubic metre of water costs {v} pence in {town}.",
        "The waterworks of {town} charge {v} pence a cubic metre.",
        "Households in {town} pay {v} pence for a cubic metre of water.",
        "Water is billed in {town} at {v} pence a cubic metre.",
    ), ("eighty", "ninety-five", "one hundred and ten", "one hundred and sixty")),
    _Kind("dog rule", "Where may dogs run free in {town}?", (
        "In {town}, dogs may run free {v}.",
        "Dogs need no leash in {town} {v}.",
        "The bylaw of {town} lets dogs run {v}.",
        "Off the leash, dogs of {town} are allowed {v}.",
    ), ("everywhere", "outside the old walls", "on the north beach", "behind the mill")),
    _Kind("bakery owner", "Who owns the old bakery of {town}?", (
        "The old bakery of {town} belongs to {v}.",
        "{v} bought the old bakery of {town}.",
        "Owner of the old bakery of {town} is {v}.",
        "The old bakery of {town} passed to {v}.",
    ), ("the Strake sisters", "Jory Penhallick", "a cooperative", "Lisbet Arkwell")),
    _Kind("train", "How many trains a day stop at {town}?", (
        "{v} trains a day stop at {town}.",
        "The timetable lists {v} trains a day for {town}.",
        "Travellers find {v} daily trains at {town}.",
        "At {town} the railway stops {v} times a day.",
    ), ("Two", "Six", "Eleven", "Eight")),
    _Kind("museum entry", "What is the entrance fee of the museum of {town}?", (
        "The museum of {town} asks an entrance fee of {v}.",
        "Visitors of the museum of {town} pay {v} at the door.",
        "The entrance fee of the museum of {town} is {v}.",
        "A visit to the museum of {town} costs {v}.",
    ), ("one crown", "two crowns", "nothing", "three crowns")),
    _Kind("doctor", "Who is the doctor of {town}?", (
        "The doctor of {town} is {v}.",
        "{v} took over the practice of {town}'s doctor.",
        "As doctor of {town}, {v} holds surgery twice a week.",
        "{v} works in {town} as its doctor.",
    ), ("Casimir Dove", "Evander Teale", "Wilma Orrick", "Tobias Munn")),
    _Kind("rubbish", "How often is rubbish collected in {town}?", (
        "Rubbish is collected in {town} {v}.",
        "The carts of {town} collect rubbish {v}.",
        "In {town} the bins are emptied and rubbish collected {v}.",
        "Collection of rubbish in {town}: {v}.",
    ), ("twice a week", "weekly", "every ten days", "once a fortnight")),
    _Kind("beach flag", "Which flag forbids bathing on the beach of {town}?", (
        "A {v} flag forbids bathing on the beach of {town}.",
        "No bathing on the beach of {town} under a {v} flag.",
        "The beach guards of {town} hoist a {v} flag when bathing is forbidden.",
        "{v} is the flag that forbids bathing on the beach of {town}.",
    ), ("black", "red", "purple", "orange")),
    _Kind("choir", "Who conducts the choir of {town}?", (
        "The choir of {town} is conducted by {v}.",
        "{v} conducts the choir of {town}.",
        "With {v} as conductor, the choir of {town} sings on Sundays.",
        "Conductor of the choir of {town} is {v}.",
    ), ("Maren Holt", "Elio Grane", "Ruth Vasser", "Ivo Linnet")),
    _Kind("bridge load", "What weight does the wooden bridge of {town} bear?", (
        "The wooden bridge of {town} bears {v} tonnes.",
        "Carts up to {v} tonnes may cross the wooden bridge of {town}.",
        "A plate at the wooden bridge of {town} names a weight of {v} tonnes.",
        "The weight on the wooden bridge of {town} is limited to {v} tonnes.",
    ), ("twelve", "eight", "five", "fifteen")),
    _Kind("post", "Where is the post office of {town}?", (
        "The post office of {town} is {v}.",
        "{town} has its post office {v}.",
        "Letters are handed in at the post office of {town}, {v}.",
        "You find the post office of {town} {v}.",
    ), ("in Chapel Lane", "at the quay", "in the town hall", "beside the station")),
    _Kind("tide gauge", "Who reads the tide gauge of {town}?", (
        "The tide gauge of {town} is read by {v}.",
        "{v} reads the tide gauge of {town} at noon.",
        "Readings of the tide gauge of {town} are taken by {v}.",
        "The tide gauge of {town} reports to {v}.",
    ), ("the pilot", "a schoolboy", "the coast guard", "a computer")),
)  # fmt: skip
_N_QUESTIONS = 80


def documents() -> Iterator[list[Chunk]]:
    """Yield the versions of each document, oldest first."""
    for at, kind in enumerate(_KINDS):
        for place in range(_PLACES):
            town = _TOWNS[_PLACES * at + place]
            since = _SINCE[(at + place) % len(_SINCE)][: 2 + (at + place) % 3]
            yield [
                Chunk(
                    id=f"{town.lower()}/{kind.name.replace(' ', '-')}",
                    title=f"{town}: {kind.name}",
                    text=kind.sentences[(number + place) % 4].format(
                        town=town, v=kind.values[(number + place) % 4]
                    ),
                    valid_from=day,
                )
                for number, day in enumerate(since)
            ]


def timed_questions() -> list[TimedQuestion]:
    """Return the questions: two of three have a separate date, the others name the time."""
    found = []
    for at, versions in enumerate([*documents(), *list(documents())[: _N_QUESTIONS - 60]]):
        kind, town = _KINDS[at % 60 // 3], _TOWNS[at % len(_TOWNS)]
        number = (at * 7 + at // 60) % len(versions)
        since = versions[number].valid_from
        assert since is not None
        year = since.year + 1
        question = kind.question.format(town=town)
        # Some months after the version became valid; for the last version, still before today.
        as_of = f"{year}-01-15" if number + 1 < len(versions) else f"{year}-08-01"
        says_when = at % 3 == 2
        if says_when:
            question = f"{question[:-1]} in {year}?"
        found.append(TimedQuestion(question, versions[0].id, as_of, number, says_when))
    return found
