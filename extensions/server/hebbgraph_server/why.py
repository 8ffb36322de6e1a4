"""Why a passage was found, for people: words, marks, parts of the score, hops."""

import math
from itertools import pairwise, zip_longest
from typing import Any, Literal

from hebbgraph import Chunk, HebbianIndex, Recall
from hebbgraph import Hit as Found
from hebbgraph.formulas.spreading_step import SpreadingParameters
from hebbgraph.text.compounds import compounds
from hebbgraph.text.query import SENTENCE_END, function_words, query_terms
from hebbgraph.text.shapes import languages_of
from hebbgraph.text.tokens import AUTO, lexical_terms, phrase_key, tokenize
from hebbgraph_server.marking import Marker, read_languages
from hebbgraph_server.models import Hit, Hop, Mark, Passage, Quote, Word

#: Characters of a passage's text that are sent and marked, and of a quotation.
_MAX_SHOWN, _MAX_QUOTE = 20_000, 240
#: A passage is close in meaning from here on.
_CLOSE = 0.5
#: Metadata that answers give in fields of their own, or that serve the splitter alone.
_OWN_FIELDS = frozenset({"headings", "position", "start", "end", "source"})


class Explainer:
    """Explains the hits of one recall; ``counts`` allows numbers and tags of all passages."""

    def __init__(self, recall: Recall, index: HebbianIndex, *, counts: bool = True) -> None:
        self._recall, self._counts = recall, counts
        self._language = index.settings.language
        self._n: int = index.stats()["chunks"]
        self._hub_cut = SpreadingParameters().hub_cut(self._n)
        passed = {step.value for hit in recall.hits for step in hit.path if step.kind == "chunk"}
        self._passages: dict[str, Found | Chunk] = {each.id: each for each in index.get([*passed])}
        self._passages |= {hit.id: hit for hit in recall.hits}
        most = max(recall.terms.values(), default=0.0) or 1.0
        self._weights = {term: weight / most for term, weight in recall.terms.items()}
        self._marker = Marker(recall.question, self._language, self._weights)

    def words(self) -> list[Word]:
        """Return the words of the question that count, the rarest first."""
        question, language = self._recall.question, self._language
        asked, found = query_terms(question, language), dict[str, Word]()
        joined = [token for whole, parts, _ in compounds(question) for token in (whole, *parts)]
        for term in lexical_terms(joined, language):  # which weigh less, so that is no measure
            asked.pop(term, None)
        for term, weight in sorted(self._recall.terms.items(), key=lambda item: (-item[1], item)):
            word, share = self._marker.word(term), round(self._weights[term], 3)
            df = self._df(weight / asked[term]) if term in asked else None
            if df == 1 and not any(word in map(self._marker.word, h.has) for h in self._recall):
                df = 0  # which weighs as much
            found.setdefault(word, Word(word=word, passages=df, weight=share))
        return list(found.values())

    def ignored(self) -> list[Word]:
        """Return what the question holds that does not count, and why."""
        counting = set(map(self._marker.word, self._recall.terms))
        tokens = tokenize(self._recall.question)
        spoken = languages_of(tokens, self._recall.question) if self._language == AUTO else []
        everyday = function_words(self._language, *spoken)
        words = dict.fromkeys(self._marker.word(t) for t in tokens if t in everyday)
        ignored = [Word(word=w, reason="an everyday word") for w in words if w not in counting]
        for cue in self._recall.cues:
            if (df := self._df(cue.weight)) is not None and df > self._hub_cut:
                reason = f"too common a tag to lead anywhere: in {df:,} passages"
                ignored.append(Word(word=cue.tag, passages=df, reason=reason))
        return ignored

    def names(self) -> list[str]:
        """Return the tags that the question names and that lead somewhere."""
        return [c.tag for c in self._recall.cues if 0 < (self._df(c.weight) or 0) <= self._hub_cut]

    def _df(self, weight: float) -> int | None:
        """Return how many passages hold a term of this weight, which is log(1 + N / df)."""
        return round(self._n / math.expm1(weight)) if self._counts and weight > 0 else None

    def marks(self, passage: Found | Chunk, text: str, marker: Marker | None = None) -> list[Mark]:
        """Return where a text of a passage holds words, by default those of the question."""
        spoken = read_languages(f"{passage.title}\n\n{passage.text[:_MAX_SHOWN]}", self._language)
        return list((marker or self._marker).marks(text[:_MAX_SHOWN], spoken))

    # -- hits -------------------------------------------------------------------------

    def hits(self) -> list[Hit]:
        """Return the hits with their reasons."""
        hits = [self._hit(hit) for hit in self._recall.hits]
        for before, hit in pairwise(hits):
            hit.adds = [word for word in hit.has if word not in before.has]
        for found, hit, after in zip_longest(self._recall.hits, hits, hits[1:]):
            hit.why = _sentence(hit, found, after)
        return hits

    def _hit(self, hit: Found) -> Hit:
        return Hit(
            **vars(passage_of(hit, self.marks(hit, hit.text))),
            rank=hit.rank,
            score=hit.score,
            untaught=hit.untaught,
            has=list(dict.fromkeys(map(self._marker.word, hit.has))),
            lacks=list(dict.fromkeys(map(self._marker.word, hit.lacks))),
            title_marks=self.marks(hit, hit.title),
            parts=self._parts(hit),
            hop=self._hop(hit),
        )

    def _parts(self, hit: Found) -> dict[str, float]:
        """Share a score among what made it: searches first, then what arrived over links."""
        share, graph = self._recall.shares or (0.0, 1.0)
        share *= hit.vectors is not None
        parts = {"words": (1 - share) * (hit.words or 0.0), "meaning": share * (hit.vectors or 0.0)}
        parts["links"] = (1 - min(sum(parts.values()), 1.0)) * graph * (hit.graph or 0.0)
        total = sum(parts.values()) or 1.0
        parts = {name: round(part * hit.untaught / total, 6) for name, part in parts.items()}
        return {**parts, "learned": round(hit.score - hit.untaught, 6) + 0.0}

    def _hop(self, hit: Found) -> Hop | None:
        """Return the two passages that the last step of a path joins, quoted."""
        at = [n for n, step in enumerate(hit.path[:-1]) if step.kind == "chunk"]
        source = self._passages.get(hit.path[at[-1]].value) if at else None
        if source is None or source.id == hit.id:
            return None
        shared = [step.value for step in hit.path[at[-1] :] if step.kind == "tag"]
        tag = shared[0] if shared else ""
        ends = self._quote(source, tag), self._quote(hit, tag)
        if tag and all(end.marks for end in ends):
            kind: Literal["words", "tag", "link"] = "words"
            text = f"both name {tag}"
        elif tag and phrase_key(tag) == tag:
            kind, text = "tag", f"both have the tag {tag}"
        else:  # an address, which says nothing to people
            kind, text, shared = "link", "one links to the other", []
        said = f"reached from {ends[0].title}: {text}"
        return Hop(kind=kind, shared=shared, source=ends[0], target=ends[1], text=said)

    def _quote(self, passage: Found | Chunk, tag: str) -> Quote:
        """Return a passage with the sentence that names a tag."""
        key = f" {phrase_key(tag)} "
        title = passage.title or " ".join(passage.text[:_MAX_QUOTE].split())[:60]
        quote = Quote(id=passage.id, title=title, place=passage.document_id)
        quote.rank = passage.rank if isinstance(passage, Found) else None
        sentences = SENTENCE_END.split(f"{passage.text[:_MAX_SHOWN]}\n{passage.title}")
        for sentence in (part.lstrip("#-> ") for part in sentences if key.strip()):
            if key in f" {' '.join(tokenize(sentence))} ":
                marker = Marker(tag, self._language)
                marks = self.marks(passage, sentence, marker)
                start = max(min((mark.start for mark in marks), default=0) - _MAX_QUOTE // 2, 0)
                quote.quote = sentence[start : start + _MAX_QUOTE]
                quote.marks = self.marks(passage, quote.quote, marker)
                break
        return quote


def named(chunk: Found | Chunk) -> dict[str, Any]:
    """Return what names a passage in answers."""
    return {"id": chunk.id, "title": chunk.title, "place": chunk.document_id}


def passage_of(chunk: Found | Chunk, marks: list[Mark] | None = None) -> Passage:
    """Return a chunk or hit as answers show it."""
    headings = chunk.metadata.get("headings")
    return Passage(
        **named(chunk),
        headings=list(map(str, headings)) if isinstance(headings, list) else [],
        text=chunk.text[:_MAX_SHOWN],
        complete=len(chunk.text) <= _MAX_SHOWN,
        metadata={name: v for name, v in chunk.metadata.items() if name not in _OWN_FIELDS},
        marks=marks or [],
    )


def _sentence(hit: Hit, found: Found, after: Hit | None) -> str:
    """Say why a hit is where it is."""
    parts = [f"has {', '.join(hit.has)}"] if hit.has else []
    if found.vectors is not None and found.vectors >= _CLOSE:
        parts.append("close in meaning")
    if hit.hop is not None:
        parts.append(hit.hop.text)
    otherwise = "found by what was learned" if hit.parts["learned"] > 0 else "fills up the list"
    parts = parts or [otherwise]
    if hit.lacks:
        parts.append(f"lacks {', '.join(hit.lacks)}")
    if after is not None and after.adds:
        parts.append(f"the next one adds {', '.join(after.adds)}")
    return "; ".join(parts)
