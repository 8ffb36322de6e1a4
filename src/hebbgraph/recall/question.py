"""A question, read with the vocabulary of one state of the index."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from hebbgraph.arrays import Float32Array
from hebbgraph.recall.snapshot import Snapshot
from hebbgraph.recall.words import Word, WordSearch, find_words
from hebbgraph.records import Cue
from hebbgraph.store.terms import Term, find_terms
from hebbgraph.terms import TermKind
from hebbgraph.text.compounds import compounds
from hebbgraph.text.context import STEMMED, label
from hebbgraph.text.matching import Phrases, possible_phrases
from hebbgraph.text.query import LIGHT, is_code, one_slip_away, query_terms, subject
from hebbgraph.text.shapes import languages_of
from hebbgraph.text.syllables import is_syllabic
from hebbgraph.text.tokens import AUTO, STOP_WORDS, WORD_LISTS, display, lexical_terms, tokenize

_Forms: TypeAlias = dict[str, set[tuple[str, str]]]
#: Chunks without any of the words, added to the count: in a handful of chunks, no word is rare.
_UNSEEN = 100
#: The share of the rarest word's rarity that a cue's words need to be trusted at all, and fully.
_LEAST_SHARE, _FULL_SHARE = 0.5, 0.9
#: The weight of a whole and of its parts if the question has all of them: three count like two.
_BESIDE = 2 / 3
#: A word that the question itself writes as a name, not where a sentence begins.
_CAPITAL = re.compile(r"(?<=[^\W\d_A-Z] )[A-Z]\w*")
#: A language of fewer than one in this many chunks is used only for questions in that language:
#: its stems may be words of another one.
_FEW = 50
#: From so many letters on, an unknown word may be a slip for a known one.
_LONG = 5
#: A code that at most this many chunks hold identifies them, so it weighs twice.
MOST_WITH_CODE = 2
#: Umlauts that are written out ("Schlueter"), but not "ue" in "neue" or "Quelle"; and back.
_UMLAUT = re.compile("(?<![aeiouq])([aou])e")
_WRITTEN = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "å": "aa"})
_GRAMMAR = re.compile(f"[{WORD_LISTS['unspaced_stop_characters']}\u3041-\u309f]")


@dataclass(frozen=True)
class Question:
    """A question, read.

    ``words`` are searched for by ``search``, with weights: 1, more if a word recurs in other
    sentences. ``trust`` tells by term id how far each cue is trusted to name what the question is
    about, in [0, 1]. ``vector`` is the embedding, of unit length; ``seeds``, scores by row, are
    results of the caller's own search in place of vector search; ``subject``, what it is about;
    ``slips``, unknown words and the known ones that are searched for in their place.
    """

    text: str
    words: dict[str, float]
    search: WordSearch
    cues: list[Term]
    trust: dict[int, float]
    frequencies: dict[str, int]
    vector: Float32Array | None
    seeds: dict[int, float] | None
    subject: str
    slips: Mapping[str, str]

    @property
    def says_nothing(self) -> bool:
        """Whether it names nothing to search for, as "When was it?"."""
        is_title = any(cue.titles and self.trust.get(cue.id, 0.0) >= 1.0 for cue in self.cues)
        return not is_title and not self.subject

    def terms(self, n_chunks: int) -> dict[str, float]:
        """Return the weight of each word, by the question and by its rarity."""
        return {
            word: weight * math.log1p(n_chunks / max(self.frequencies[word], 1))
            for word, weight in self.words.items()
        }

    def cue_records(self, n_chunks: int) -> tuple[Cue, ...]:
        return tuple(
            Cue(tag=display(cue.key), weight=math.log1p(n_chunks / max(cue.df, 1)))
            for cue in self.cues
        )


def read_question(
    snapshot: Snapshot,
    text: str,
    language: str,
    *,
    vector: Float32Array | None = None,
    seeds: dict[int, float] | None = None,
    tags: Iterable[str] = (),
) -> Question:
    """Return the words and cues of a question; ``tags`` are what a tagger names in it."""
    tokens = tokenize(text)
    terms = lexical_terms(tokens, language)
    held, spoken = _languages(snapshot, terms, tokens, text) if language == AUTO else ((), None)
    words = query_terms(text, language, spoken)
    found = find_words(snapshot, words, _forms(tokens, text, language, held))
    slips = _slips(snapshot, found, terms)
    found |= find_words(snapshot, slips, {word: [(near, near)] for word, near in slips.items()})
    if not (text.isascii() or is_syllabic(text)):
        words = _known_pairs(terms, words, found)
    frequencies = {word: found[word].df for word in words}
    weigh_compounds(words, frequencies, text, language)
    for word, df in frequencies.items():
        if is_code(word) and 0 < df <= MOST_WITH_CODE:
            words[word] *= 2
    cues = _cues(snapshot, tokens)
    search = WordSearch(snapshot, found, words, [cue.id for cue in cues if cue.is_known])
    about = subject(text)
    names = {name.lower() for name in _CAPITAL.findall(text)}
    trust = _trust(snapshot, cues, frequencies, names, language)
    trust |= {cue.id: 1.0 for cue in cues if cue.key == about}
    for tag in tags:
        cues += _cues(snapshot, tokenize(tag))
    cues = list({cue.id: cue for cue in cues}.values())
    return Question(text, words, search, cues, trust, frequencies, vector, seeds, about, slips)


def _cues(snapshot: Snapshot, tokens: Sequence[str]) -> list[Term]:
    """Return the tags that tokens name, if a chunk holds them: known phrases, then given ones."""
    longest = snapshot.longest(dict.fromkeys(tokens))
    terms = snapshot.find(TermKind.TAG, set(possible_phrases(tokens, longest)))
    text = " ".join(tokens)
    spans = Phrases({key: term for key, term in terms.items() if term.is_known}).spans_in(text)
    cues = dict.fromkeys(term for *_, term in spans)
    given = {key: term for key, term in terms.items() if term.given}
    for start, stop, term in Phrases(given).spans_in(text) if given else ():
        if not any(first <= start and stop <= last for first, last, _ in spans):
            cues[term] = None
    return [cue for cue in cues if snapshot.n_holders(cue)]


def _trust(
    snapshot: Snapshot,
    cues: Sequence[Term],
    frequencies: Mapping[str, int],
    names: Collection[str],
    language: str,
) -> dict[int, float]:
    """Return how far each cue is trusted to name what a question is about."""
    # Its words together are to be about as rare as the rarest word; a single word is trusted as
    # far as texts mention it as a name, or fully if the question does.
    n = snapshot.n_chunks + _UNSEEN + 1
    rarities = {word: math.log(n / (max(df, 1) + 0.5)) for word, df in frequencies.items()}
    rarest = max(rarities.values(), default=0.0)
    trust = {}
    for cue in cues:
        words = set(lexical_terms(cue.key.split(" "), language))
        share = sum(rarities.get(word, 0.0) for word in words) / rarest if rarest > 0 else 1.0
        trust[cue.id] = min(max((share - _LEAST_SHARE) / (_FULL_SHARE - _LEAST_SHARE), 0.0), 1.0)
        if cue.key not in names:
            trust[cue.id] *= cue.keyphraseness
    return trust


def _forms(tokens: list[str], text: str, language: str, languages: Iterable[str]) -> _Forms:
    """Return other terms of the words: with written umlauts, and in other languages."""
    spellings = [tokens, _UMLAUT.sub(r"\1", " ".join(tokens)).split()]
    if not text.isascii():
        spellings.append(tokenize(text.lower().translate(_WRITTEN)))
    forms: _Forms = {}
    terms = lexical_terms(tokens, language)
    for spelt in spellings:
        for term, other in zip(terms, lexical_terms(spelt, language), strict=False):
            if other != term:
                forms.setdefault(term, set()).add((other, other))
        for name in languages:
            stop_words = STOP_WORDS.get(name, ())
            for term, other in zip(terms, lexical_terms(spelt, name), strict=False):
                if other != term and other not in stop_words:
                    forms.setdefault(term, set()).add((other, label(name)))
    return forms


def _languages(
    snapshot: Snapshot, terms: Iterable[str], tokens: list[str], text: str
) -> tuple[set[str], list[str]]:
    """Return languages of the index in which words are looked up, and those of the question."""
    spoken = languages_of(tokens, text)
    if spoken == ["english"]:
        return set(), spoken
    found = snapshot.find(TermKind.WORD, [*map(label, STEMMED), *terms])  # with one statement
    df = {name: found[label(name)].df for name in STEMMED if label(name) in found}
    enough = {name for name, n in df.items() if n * _FEW >= snapshot.n_chunks}
    # "Dog office" is not Danish, nor "car refund" French, unless half of the chunks are.
    told = {name for name, n in df.items() if not text.isascii() or 2 * n >= snapshot.n_chunks}
    told |= {name for name in spoken if len(STOP_WORDS.get(name, set()) & set(tokens)) > 1}
    return df.keys() & set(spoken) or enough, [n for n in spoken if n in told or n not in STEMMED]


def _slips(snapshot: Snapshot, words: Mapping[str, Word], terms: Iterable[str]) -> dict[str, str]:
    """Return words that no chunk holds, each with the most frequent word one slip away."""

    def read(words: list[str]) -> dict[str, str]:
        near = {word: one_slip_away(word) for word in words}
        found = find_terms(snapshot.session, TermKind.WORD, set().union(*near.values()))
        df = {key: term.df for key, term in found.items() if term.df}
        return {
            word: max(keys & df.keys(), key=lambda key: (df[key], key), default="")
            for word, keys in near.items()
        }

    unknown = [
        word
        for word in dict.fromkeys(terms)
        if word in words and len(word) >= _LONG and not words[word].df
    ]
    near = snapshot.cache.known("slips", unknown, read, 200)
    return {word: other for word, other in near.items() if other}


def _known_pairs(
    terms: Sequence[str], weights: dict[str, float], words: Mapping[str, Word]
) -> dict[str, float]:
    """Drop pairs of characters that no chunk holds: ends of two words, or grammar."""
    known = {word for word in words if words[word].df}
    dropped = set()
    for before, pair, after in zip(["", *terms], terms, [*terms[1:], ""], strict=False):
        if len(pair) > 1 and not pair.isascii() and pair not in known:
            is_beside = (before[-1:] == pair[0] and before in known) or (
                after[:1] == pair[-1] and after in known
            )
            if is_beside or (len(pair) == 2 and _GRAMMAR.search(pair)):
                dropped.add(pair)
    left = {word: weight for word, weight in weights.items() if word not in dropped}
    return left or weights


def weigh_compounds(
    words: dict[str, float], frequencies: dict[str, int], text: str, language: str
) -> None:
    """Let a whole and its parts weigh like the parts alone, or drop a whole that no chunk holds.

    Exact compounds stay, and so do codes in the question: "gpt4" says more than its parts.
    """
    tokens = set(tokenize(text))
    own = set(lexical_terms(list(tokens), language))
    for whole, parts, exact in compounds(text):
        if exact:
            continue
        wholes = lexical_terms([whole], language)
        if any(frequencies.get(word) for word in wholes):
            said = set(lexical_terms(list(parts), language))
            has_all = said <= own
            lighter = said.union(wholes) if has_all else said - own
            for word in lighter & words.keys():
                words[word] = min(words[word], _BESIDE if has_all else LIGHT)
        elif whole not in tokens or whole.isalpha():
            for word in wholes:
                words.pop(word, None)
                frequencies.pop(word, None)
