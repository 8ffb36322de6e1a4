"""Tags and their edges: how many chunks hold two tags both, and what lessons added."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import combinations, permutations

import networkx as nx

from hebbgraph.errors import NotFoundError
from hebbgraph.learning.folding import PATH
from hebbgraph.learning.lessons import UNIT, Cues, cue_number
from hebbgraph.records import Neighbor, Tag
from hebbgraph.store.chunks import rows_of
from hebbgraph.store.database import Session, pages
from hebbgraph.store.postings import portions, read_postings, unpack_tags
from hebbgraph.store.terms import Term, find_terms, terms_by_id
from hebbgraph.terms import Role, TermKind
from hebbgraph.text.tokens import display, phrase_key, tokenize

_PAGE = 5000


def find_tags(session: Session, prefix: str, limit: int) -> list[Tag]:
    """Return the tags that begin with a prefix, those of most chunks first."""
    start = " ".join(tokenize(prefix))
    sql = (
        "SELECT key, df, titles FROM $term WHERE kind = ? AND key >= ? AND key < ? AND df > 0 "
        "ORDER BY df DESC, key LIMIT ?"
    )
    found = session.rows(sql, int(TermKind.TAG), start, start + "\U0010ffff", limit)
    return [Tag(tag=display(key), chunks=df, titles=titles) for key, df, titles in found]


def neighbors(session: Session, tag: str, k: int) -> list[Neighbor]:
    """Return the tags that most often occur in the chunks of a tag; raise if none holds it."""
    term = find_terms(session, TermKind.TAG, [phrase_key(tag)]).get(phrase_key(tag))
    if term is None or not term.df:
        raise NotFoundError(f"no chunk holds the tag {tag!r}; tags(prefix) lists tags")
    rows = read_postings(session, [term.id])[term.id].rows.tolist()
    counts: Counter[int] = Counter()
    for part in portions(rows, _PAGE):
        for (data,) in session.rows("SELECT tags FROM $held WHERE row = ANY(?)", part):
            counts.update(unpack_tags(data)[0].tolist())
    del counts[term.id]
    terms = terms_by_id(session, counts)
    learned = _learned(session, {**terms, term.id: term}, rows)
    ranked = sorted(
        (-n, terms[id_].key, id_) for id_, n in counts.items() if terms[id_].kind == TermKind.TAG
    )
    return [
        Neighbor(
            tag=display(key), weight=-n, learned=learned.get(frozenset((term.id, id_)), 0) * UNIT
        )
        for n, key, id_ in ranked[:k]
    ]


def referring(session: Session, ids: list[str]) -> list[str]:
    """Return the ids of the chunks that refer to an address of these chunks."""
    rows = rows_of(session, ids).values()
    held = session.rows("SELECT tags FROM $held WHERE row = ANY(?)", list(rows))
    own: set[int] = set()
    for (data,) in held:
        tags, roles = unpack_tags(data)
        own.update(tags[roles == Role.TITLE].tolist())
    terms = [id_ for id_, term in terms_by_id(session, own).items() if term.kind > TermKind.TAG]
    found: set[int] = set()
    for postings in read_postings(session, terms).values():
        found.update(postings.rows[postings.roles == Role.MENTION].tolist())
    sql = "SELECT id FROM $chunk WHERE row = ANY(?) ORDER BY id"
    return [id_ for (id_,) in session.rows(sql, sorted(found - set(rows)))]


def cooccurrence(session: Session) -> nx.Graph[str]:
    """Return the graph of tags; ``weight`` is the number of chunks that hold both."""
    counts: Counter[tuple[int, int]] = Counter()
    terms: dict[int, Term] = {}
    for page in pages(session, "SELECT row, tags FROM $held WHERE row > ? ORDER BY row", _PAGE):
        lists = [unpack_tags(data)[0].tolist() for _, data in page]
        new = {tag for tags in lists for tag in tags if tag not in terms}
        terms.update(terms_by_id(session, new))
        for tags in lists:
            counts.update(combinations((t for t in tags if terms[t].kind == TermKind.TAG), 2))
    graph: nx.Graph[str] = nx.Graph()
    for term in terms.values():
        if term.kind == TermKind.TAG:
            graph.add_node(display(term.key), chunks=term.df, titles=term.titles)
    learned = _learned(session, terms)
    for (first, second), weight in counts.items():
        more = learned.get(frozenset((first, second)), 0) * UNIT
        graph.add_edge(
            display(terms[first].key), display(terms[second].key), weight=weight, learned=more
        )
    return graph


def _learned(
    session: Session, terms: Mapping[int, Term], rows: list[int] | None = None
) -> dict[frozenset[int], int]:
    """Return what lessons added to the edges from tags on their path to others of the chunk."""
    tags_alone = (term for term in terms.values() if term.kind == TermKind.TAG)
    number_of = {term.id: cue_number(b"p", term.key) for term in tags_alone}
    sql = (
        "SELECT c.row, h.tags, t.cues FROM $taught AS t JOIN $chunk AS c ON c.digest = t.digest "
        "JOIN $held AS h ON h.row = c.row WHERE t.kind = ? AND NOT EXISTS "
        "(SELECT 1 FROM $chunk AS d WHERE d.digest = c.digest AND d.id < c.id)"
    )
    learned: dict[frozenset[int], int] = {}
    wanted = None if rows is None else set(rows)
    for row, held, cues in session.rows(sql, PATH):
        if wanted is not None and row not in wanted:
            continue
        tags = [tag for tag in unpack_tags(held)[0].tolist() if tag in number_of]
        keys, weights = Cues.unpack(cues)
        weight_of = dict(zip(keys.tolist(), weights.tolist(), strict=True))
        for tag, other in permutations(tags, 2):
            if weight := weight_of.get(number_of[tag]):
                pair = frozenset((tag, other))
                learned[pair] = learned.get(pair, 0) + weight
    return learned
