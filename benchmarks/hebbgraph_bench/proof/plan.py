"""All stages, the most useful ones first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from hebbgraph_bench.embedding import LazyEmbedder
from hebbgraph_bench.linear_rag import LinearRAGSettings
from hebbgraph_bench.proof.answers import AnswerSettings, measure_answers
from hebbgraph_bench.proof.measuring import K
from hebbgraph_bench.proof.models import MPNET, minilm
from hebbgraph_bench.proof.poisoning import (
    ACTORS,
    RECIPES,
    measure_citations,
    measure_documents,
)
from hebbgraph_bench.proof.retrieval import DEPTHS, measure_depth, measure_retrieval
from hebbgraph_bench.proof.rivals import RIVALS, WITH_TRIPLES, measure_rival
from hebbgraph_bench.proof.sets import TITLES, Titles
from hebbgraph_bench.proof.stages import CLOSED, Stage
from hebbgraph_bench.proof.use import PROTOCOLS, Protocol, measure_learned

__all__ = ["DEVELOPMENT", "MODELS", "PUBLISHED", "WITH_LOG", "Place", "stages"]

#: The published set that comes with past questions.
WITH_LOG = "musique_lag"
SMALLER = ("2wiki_hr", "hotpot_dev500", "musique_dev498")
PUBLISHED = (*SMALLER, WITH_LOG)
#: Smaller sets, used to develop hebbgraph, for slow stages; one has triples by an LLM.
DEVELOPMENT = ("2wiki_164", "hotpotqa_train100", "musique_train100")
_TRIPLES = "musique_train100"
_ATTACKED = ("2wiki_hr", "2wiki_164")
#: Sets that a service answers, and sets that the small local model answers.
_ANSWERED = (*SMALLER, "hotpotqa_train100")
_ANSWERED_LOCALLY = ("hotpotqa_train100",)
MODELS = ("none", "MiniLM", "mpnet")


@dataclass(frozen=True)
class Place:
    """Where sets, models and vectors are, and how much to ask.

    Parameters
    ----------
    shared : Path
        Folder with ``published`` and ``data``.
    cache : Path
        For models and vectors.
    queries : int, optional
        Sample at most this many questions per set, for a trial run.
    reader : AnswerSettings
    """

    shared: Path
    cache: Path
    queries: int | None
    reader: AnswerSettings

    def set(self, name: str) -> Path:
        """Return the folder of a set."""
        published = self.shared / "published" / name
        return published if published.is_dir() else self.shared / "data" / name

    def model(self, name: str) -> LazyEmbedder | None:
        """Return a model; fetch it if it is missing.

        The larger one multiplies in bfloat16, which halves its time.
        """
        if name == "none":
            return None
        if name == "MiniLM":
            return LazyEmbedder(str(minilm()))
        return LazyEmbedder(str(MPNET.fetch(self.cache / "models")), bfloat16=True)

    @property
    def vectors(self) -> Path:
        """The folder of vectors."""
        return self.cache / "vectors"


def stages(place: Place, *, wide: bool = False) -> list[Stage]:
    """List all stages whose sets exist.

    Parameters
    ----------
    place : Place
    wide : bool
        Add stages that take hours on two cores and show little more: other titles with a model on
        all published sets, mpnet and LinearRAG on the largest, answers by the small local model on
        more than one set.
    """
    listed = [*_listed(place), *(_wide(place) if wide else ())]
    return [stage for stage in listed if all(folder.is_dir() for folder in stage.data)]


def _listed(place: Place) -> Iterator[Stage]:
    for model in MODELS[:2]:
        yield from (_retrieval(place, name, "published", model) for name in PUBLISHED)
        yield from (_use(place, protocol, model) for protocol in PROTOCOLS)
    yield from (
        _retrieval(place, name, titles, "none") for name in PUBLISHED for titles in TITLES[1:]
    )
    yield from (
        _retrieval(place, name, titles, "none") for name in DEVELOPMENT for titles in TITLES
    )
    yield from (
        _depth(place, name, model) for model in MODELS[:2] for name in (*PUBLISHED, *DEVELOPMENT)
    )
    yield from _attacks(place)
    yield from (_retrieval(place, name, "published", "MiniLM") for name in DEVELOPMENT)
    yield from (_rival(place, name, rival) for rival in RIVALS for name in _sets_of(rival))
    yield from (_retrieval(place, name, "published", MODELS[2]) for name in SMALLER)
    yield from (_retrieval(place, SMALLER[0], titles, MODELS[1]) for titles in TITLES[1:])
    yield from (
        _answers(place, name) for name in (_ANSWERED if place.reader.url else _ANSWERED_LOCALLY)
    )


def _wide(place: Place) -> Iterator[Stage]:
    yield _rival(place, WITH_LOG, "LinearRAG")
    yield _retrieval(place, WITH_LOG, "published", MODELS[2])
    yield _use(place, PROTOCOLS[0], MODELS[2])
    for model, names in ((MODELS[1], PUBLISHED[1:]), (MODELS[2], PUBLISHED)):
        for titles in TITLES[1:]:
            yield from (_retrieval(place, name, titles, model) for name in names)
    if not place.reader.url:
        yield from (_answers(place, name) for name in _ANSWERED if name not in _ANSWERED_LOCALLY)


def _sets_of(rival: str) -> Sequence[str]:
    if rival == WITH_TRIPLES:
        return (_TRIPLES,)
    return (*DEVELOPMENT, *(SMALLER if rival == "LinearRAG" else PUBLISHED))


def _retrieval(place: Place, name: str, titles: Titles, model: str) -> Stage:
    return Stage(
        f"retrieval/{name}/{titles}/{model}",
        measure_retrieval,
        lambda: measure_retrieval(
            place.set(name),
            titles=titles,
            model=place.model(model),
            cache=place.vectors,
            queries=place.queries,
        ),
        {"titles": titles, "model": model, "k": K, "queries": place.queries},
        [place.set(name)],
    )


def _depth(place: Place, name: str, model: str) -> Stage:
    return Stage(
        f"depth/{name}/{model}",
        measure_depth,
        lambda: measure_depth(place.set(name), model=place.model(model), cache=place.vectors),
        {"model": model, "depths": DEPTHS},
        [place.set(name)],
    )


def _use(place: Place, protocol: Protocol, model: str) -> Stage:
    return Stage(
        f"{protocol.stage}/{model}",
        measure_learned,
        lambda: measure_learned(
            place.set(protocol.set),
            protocol,
            model=place.model(model),
            cache=place.vectors,
            queries=place.queries,
        ),
        {"model": model, "k": K, "queries": place.queries, **asdict(protocol)},
        [place.set(protocol.set)],
    )


def _attacks(place: Place) -> Iterator[Stage]:
    for name in _ATTACKED:
        for recipe in RECIPES:
            yield Stage(
                f"poison/{name}/{recipe}",
                measure_documents,
                partial(measure_documents, place.set(name), recipe),
                {"recipe": recipe, "model": "none"},
                [place.set(name)],
            )
        for actors in ACTORS:
            for readers in (False, True):
                yield Stage(
                    f"poison/{name}/MINJA {actors}{', readers' if readers else ''}",
                    measure_citations,
                    partial(measure_citations, place.set(name), actors, readers=readers),
                    {"actors": actors, "readers": readers, "model": "none"},
                    [place.set(name)],
                )


def _rival(place: Place, name: str, rival: str) -> Stage:
    settings: dict[str, object] = {"rival": rival, "model": "MiniLM", "queries": place.queries}
    if rival == "LinearRAG":
        settings |= asdict(LinearRAGSettings.for_set(name))
    return Stage(
        f"rivals/{name}/{rival}",
        measure_rival,
        lambda: measure_rival(
            rival,
            place.set(name),
            model=LazyEmbedder(str(minilm())),
            cache=place.vectors,
            queries=place.queries,
        ),
        settings,
        [place.set(name)],
        code=RIVALS[rival].code,
        closed=CLOSED if RIVALS[rival].runs_core else ("hebbgraph",),
    )


def _answers(place: Place, name: str) -> Stage:
    settings = asdict(place.reader) | {"reader": place.reader.reader, "model of vectors": "MiniLM"}
    return Stage(
        f"answers/{name}",
        measure_answers,
        lambda: measure_answers(
            place.set(name), place.reader, model=LazyEmbedder(str(minilm())), cache=place.cache
        ),
        {key: value for key, value in settings.items() if key != "url"},
        [place.set(name)],
    )
