"""The records of an evaluation set: chunks, questions and judgements."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from hebbgraph.errors import DatasetError
from hebbgraph.records import Chunk

__all__ = ["NAMESPACE", "Dataset", "Extraction", "Query", "Variant"]

#: The field of chunks and questions that names their namespace; each chat has its own memory.
NAMESPACE = "chat"


@dataclass(frozen=True, slots=True)
class Variant:
    """Another wording: its text, and the grade of each chunk that answers it."""

    text: str
    relevant: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Query:
    """One question with its judgements.

    Parameters
    ----------
    id, text : str
    relevant : mapping of chunk id to grade
        Positive grades only; absent chunks are not relevant. Never empty.
    answers : tuple of str
        Short answers, any of which is right; empty when unknown.
    type, group : str, optional
        The set's own classification; questions of one group have the same meaning.
    variants : mapping of str to Variant
        Rewordings and follow-ups by name: ``rewording``, ``paraphrase_light``,
        ``paraphrase_heavy``, ``keywords``, ``follow_up``.
    also : tuple of str
        Further chunks that answer as well as a relevant one; see :meth:`credited`.
    split : str, optional
        Its part of the set, by the set's own division.
    history : tuple of str
        Earlier turns of the asker, oldest first.
    variant : str, optional
        Kind of variant; None for the question itself.
    namespace : str, optional
        The part of the corpus to search; None for all of it.
    """

    id: str
    text: str
    relevant: Mapping[str, int]
    answers: tuple[str, ...] = ()
    type: str | None = None
    group: str | None = None
    variants: Mapping[str, Variant] = field(default_factory=dict)
    also: tuple[str, ...] = ()
    history: tuple[str, ...] = ()
    variant: str | None = None
    split: str | None = None
    namespace: str | None = None

    def credited(self, ranked: Sequence[str]) -> tuple[str, ...]:
        """Return the ranking to judge.

        A chunk of ``also`` trades places with the first relevant chunk that is not ranked above
        it, so each relevant chunk counts once.

        Examples
        --------
        >>> query = Query("1", "where?", {"a": 1}, also=("b", "c"))
        >>> query.credited(["x", "b", "c", "a"])
        ('x', 'a', 'c', 'b')
        """
        missing = dict.fromkeys(self.relevant)
        traded: dict[str, str] = {}
        judged = []
        for chunk_id in ranked:
            if chunk_id in self.also and missing:
                stood_for = next(iter(missing))
                del missing[stood_for]
                traded[stood_for] = chunk_id
                judged.append(stood_for)
            else:
                missing.pop(chunk_id, None)
                judged.append(traded.get(chunk_id, chunk_id))
        return tuple(judged)

    def reworded(self) -> tuple[Query, ...]:
        """Return its variants as separate questions."""
        return tuple(
            replace(
                self,
                id=f"{self.id} {name}",
                text=variant.text,
                relevant=variant.relevant,
                variants={},
                also=self.also if variant.relevant == self.relevant else (),
                variant=name,
            )
            for name, variant in self.variants.items()
        )


@dataclass(frozen=True, slots=True)
class Extraction:
    """What a model extracted from one chunk.

    Parameters
    ----------
    entities : tuple of str
    triples : tuple of (subject, relation, object)
    """

    entities: tuple[str, ...] = ()
    triples: tuple[tuple[str, str, str], ...] = ()

    @property
    def phrases(self) -> tuple[str, ...]:
        """Distinct entities, subjects and objects that are not blank."""
        ends = (text for subject, _, object_ in self.triples for text in (subject, object_))
        return tuple(phrase for phrase in dict.fromkeys((*self.entities, *ends)) if phrase.strip())


@dataclass(frozen=True, slots=True)
class Dataset:
    """A corpus and questions over it.

    Parameters
    ----------
    name : str
    corpus : tuple of Chunk
    queries : tuple of Query
    skipped : mapping of str to int
        Counts of questions that were left out of ``queries``, by reason.
    extractions : mapping of chunk id to Extraction
        What a model extracted from the chunks; empty if the set has none.

    Examples
    --------
    >>> chunks = tuple(Chunk(id=name, text=name) for name in "abcd")
    >>> dataset = Dataset("letters", chunks, (Query("1", "which comes first?", {"a": 1}),))
    >>> [chunk.id for chunk in dataset.shuffled(seed=1).corpus]
    ['d', 'a', 'c', 'b']
    >>> titled = (Chunk(id="e", title="E", text="A letter."), Chunk(id="f", title="F", text=""))
    >>> [(chunk.title, chunk.text) for chunk in Dataset("", titled, ()).untitled().corpus]
    [('', 'A letter.'), ('', 'F')]
    """

    name: str
    corpus: tuple[Chunk, ...]
    queries: tuple[Query, ...]
    skipped: Mapping[str, int] = field(default_factory=dict)
    extractions: Mapping[str, Extraction] = field(default_factory=dict)

    def shuffled(self, *, seed: int) -> Dataset:
        """Return the set with its corpus shuffled.

        Published corpora lie in the order of their questions: the chunks that answer
        one question are neighbours in the file. A system that uses the order of arrival
        would read the answers from it.
        """
        corpus = list(self.corpus)
        random.Random(seed).shuffle(corpus)
        return replace(self, corpus=tuple(corpus))

    def untitled(self) -> Dataset:
        """Return the set without titles, like many corpora.

        A chunk that has only a title keeps it as its text.
        """
        corpus = tuple(
            chunk.model_copy(update={"title": "", "text": chunk.text or chunk.title})
            for chunk in self.corpus
        )
        return replace(self, name=f"{self.name}, no titles", corpus=corpus)

    def without_references(self) -> Dataset:
        """Return the set without the links of its chunks."""
        none: dict[str, tuple[str, ...]] = {"addresses": (), "references": ()}
        corpus = tuple(chunk.model_copy(update=none) for chunk in self.corpus)
        return replace(self, name=f"{self.name}, no references", corpus=corpus)

    def by_namespace(self) -> list[Dataset]:
        """Return each namespace as a separate set, if questions name theirs."""
        names = dict.fromkeys(query.namespace for query in self.queries)
        return [
            self
            if name is None
            else replace(
                self,
                corpus=tuple(c for c in self.corpus if str(c.metadata.get(NAMESPACE)) == name),
                queries=tuple(query for query in self.queries if query.namespace == name),
            )
            for name in names
        ]

    def with_rewordings(self) -> Dataset:
        """Return the set with each variant as a further question."""
        reworded = (variant for query in self.queries for variant in query.reworded())
        return replace(self, queries=(*self.queries, *reworded))

    def sampled(self, queries: int, *, seed: int) -> Dataset:
        """Return the set with a sample of at most ``queries`` questions.

        The corpus stays whole, the questions stay in their order.

        Raises
        ------
        DatasetError
            If ``queries`` is not positive.
        """
        if queries < 1:
            raise DatasetError(f"expected a sample of at least 1 question, got queries={queries!r}")
        if queries >= len(self.queries):
            return self
        drawn = sorted(random.Random(seed).sample(range(len(self.queries)), queries))
        return replace(self, queries=tuple(self.queries[index] for index in drawn))
