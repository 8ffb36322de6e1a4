"""Word lists by language, from the file ``words.toml`` beside this module, which explains each.

Lists are strings in ordinary spelling; :mod:`hebbgraph.text.tokens` tokenizes them.
"""

from __future__ import annotations

import tomllib
from importlib.resources import files

_LISTS = tomllib.loads(files(__package__).joinpath("words.toml").read_text(encoding="utf-8"))

STOP_WORDS: dict[str, str] = _LISTS["stop_words"]
COPULAS: dict[str, str] = _LISTS["copulas"]
ARTICLES: dict[str, str] = _LISTS["articles"]
ABBREVIATIONS: str = _LISTS["abbreviations"]
ASKING: str = _LISTS["asking"]
CONJUNCTIONS: str = _LISTS["conjunctions"]
CONNECTORS: str = _LISTS["connectors"]
CONTENT_ELSEWHERE: str = _LISTS["content_elsewhere"]
DETERMINERS: str = _LISTS["determiners"]
FUNCTION_SYLLABLES: str = _LISTS["vietnamese_function_syllables"]
HONORIFICS: str = _LISTS["honorifics"]
INNER_ARTICLES: str = _LISTS["inner_articles"]
LABELS: str = _LISTS["labels"]
MONTHS: str = _LISTS["months"]
PREPOSITIONS: str = _LISTS["prepositions"]
UNSPACED_STOP_CHARACTERS: str = _LISTS["unspaced_stop_characters"]
WEEKDAYS: str = _LISTS["weekdays"]
