"""Tables of the truth, and migrations from older versions.

The database holds only settings, feedback, and what depends on one chunk alone; what depends
on the whole corpus is derived (:mod:`hebbgraph.derived`). Every row carries its namespace.
"""

from __future__ import annotations

import functools
import secrets
import uuid
from collections.abc import Callable, Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy.schema import CreateIndex, CreateTable

__all__ = [
    "METADATA",
    "MIGRATIONS",
    "SCHEMA_VERSION",
    "answer_names",
    "answers",
    "chunks",
    "commits",
    "creation",
    "documents",
    "feedback",
    "meta",
    "namespaces",
    "new_database_id",
    "tag_answers",
    "tag_corrections",
    "tombstones",
]

SCHEMA_VERSION = 8

METADATA = sa.MetaData()


def _name(length: int) -> sa.String:
    """A string that sorts by its bytes on any server, as in SQLite and Python."""
    return sa.String(length).with_variant(sa.String(length, collation="C"), "postgresql")


#: Facts about the database itself: ``schema_version``, ``application``, ``database_id``.
meta = sa.Table(
    "meta",
    METADATA,
    sa.Column("key", sa.String(64), primary_key=True),
    sa.Column("value", sa.Text, nullable=False),
)

#: One row per tenant. ``generation`` counts commits; updating it is the first statement of a
#: write, so that generations follow commit order on every database. ``floor`` is the oldest
#: generation from which small steps are possible.
namespaces = sa.Table(
    "namespaces",
    METADATA,
    sa.Column("namespace", _name(256), primary_key=True),
    sa.Column("generation", sa.BigInteger, nullable=False),
    sa.Column("floor", sa.BigInteger, nullable=False),
    sa.Column("build_settings", sa.Text, nullable=False),
    # The model of the vectors (EmbeddingState as JSON); NULL before the first.
    sa.Column("embedding", sa.Text),
    # How often feedback was added and removed: after the one a reader continues with what
    # is new, after the other it starts over.
    sa.Column("feedback_added", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("feedback_removed", sa.BigInteger, nullable=False, server_default="0"),
    # Random for each generation and each change of the feedback log, as a database restored
    # from a copy reaches the same numbers again.
    sa.Column("mark", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("feedback_mark", sa.BigInteger, nullable=False, server_default="0"),
)

#: Every generation of a namespace and its mark (hebbgraph.store.history).
commits = sa.Table(
    "commits",
    METADATA,
    sa.Column("namespace", _name(256), primary_key=True),
    sa.Column("generation", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("mark", sa.BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

_ROW_ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")

#: ``row`` is never used twice: a replaced chunk gets a new one.
chunks = sa.Table(
    "chunks",
    METADATA,
    sa.Column("row", _ROW_ID, primary_key=True, autoincrement=True),
    sa.Column("namespace", _name(256), nullable=False),
    sa.Column("id", _name(512), nullable=False),
    sa.Column("document_id", _name(512)),
    sa.Column("title", sa.Text, nullable=False),
    sa.Column("text", sa.Text, nullable=False),
    sa.Column("metadata", sa.Text, nullable=False),
    sa.Column("tags", sa.Text, nullable=False),
    sa.Column("candidates", sa.Text, nullable=False),
    sa.Column("digest", sa.LargeBinary(16), nullable=False),
    sa.Column("generation", sa.BigInteger, nullable=False),
    # Of a text kept elsewhere (hebbgraph.store.texts).
    sa.Column("imprint", sa.LargeBinary(24)),
    # Addresses and references as JSON; NULL without any.
    sa.Column("links", sa.Text),
    # When the text holds and what it supersedes, as JSON; NULL without any of it.
    sa.Column("validity", sa.Text),
    # Of an old version that is kept: the id of the chunk.
    sa.Column("version_of", _name(512)),
    # Last, so that reading other columns skips it. The epoch distinguishes vectors of the
    # present model from those not yet re-embedded.
    sa.Column("vector_epoch", sa.Integer),
    sa.Column("vector", sa.LargeBinary),
    sa.UniqueConstraint("namespace", "id", name="uq_chunks_namespace_id"),
    sa.Index("ix_chunks_namespace_generation", "namespace", "generation"),
    sa.Index("ix_chunks_namespace_document", "namespace", "document_id"),
    sqlite_autoincrement=True,
)

#: Counts vectors without reading chunks; empty without vectors.
_vectors_index = sa.Index(
    "ix_chunks_namespace_vector_epoch",
    chunks.c.namespace,
    chunks.c.vector_epoch,
    sqlite_where=chunks.c.vector_epoch.is_not(None),
    postgresql_where=chunks.c.vector_epoch.is_not(None),
)

#: Finds dated chunks and old versions without reading chunks; empty without them.
_dated_indexes = (
    sa.Index(
        "ix_chunks_namespace_dated",
        chunks.c.namespace,
        chunks.c.row,
        sqlite_where=chunks.c.validity.is_not(None),
        postgresql_where=chunks.c.validity.is_not(None),
    ),
    sa.Index(
        "ix_chunks_namespace_version_of",
        chunks.c.namespace,
        chunks.c.version_of,
        sqlite_where=chunks.c.version_of.is_not(None),
        postgresql_where=chunks.c.version_of.is_not(None),
    ),
)

#: Deleted rows, without their content.
tombstones = sa.Table(
    "tombstones",
    METADATA,
    sa.Column("row", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("namespace", _name(256), nullable=False),
    sa.Column("generation", sa.BigInteger, nullable=False),
    sa.Index("ix_tombstones_namespace_generation", "namespace", "generation"),
)

#: Fingerprints of files that were read, so that unchanged ones are skipped.
documents = sa.Table(
    "documents",
    METADATA,
    sa.Column("namespace", _name(256), primary_key=True),
    sa.Column("document_id", _name(512), primary_key=True),
    sa.Column("fingerprint", sa.String(512), nullable=False),
)

#: What was cited. ``seq`` follows commit order within a namespace, as it is drawn under the
#: lock on the namespace's row. ``digest`` identifies recall, citation and actor, so that the
#: same feedback counts once. ``body`` (JSON) and ``vector`` hold all that learning reads;
#: ``query`` is kept only on request.
feedback = sa.Table(
    "feedback",
    METADATA,
    sa.Column("seq", _ROW_ID, primary_key=True, autoincrement=True),
    sa.Column("namespace", _name(256), nullable=False),
    sa.Column("id", _name(64), nullable=False),
    sa.Column("digest", sa.LargeBinary(16), nullable=False),
    sa.Column("recall_id", _name(512), nullable=False),
    sa.Column("actor", _name(512)),
    sa.Column("origin", sa.String(512), nullable=False),
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Column("query", sa.Text),
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("vector", sa.LargeBinary),
    sa.UniqueConstraint("namespace", "digest", name="uq_feedback_namespace_digest"),
    sa.UniqueConstraint("namespace", "id", name="uq_feedback_namespace_id"),
    sa.Index("ix_feedback_namespace_seq", "namespace", "seq"),
    sqlite_autoincrement=True,
)

#: Answers that a learner has read (hebbgraph.store.answers), bounded in number and age: what
#: links a later verdict, or a later turn of the conversation, to its lessons. ``body`` is NULL
#: where nothing can follow. Conversations and names are hashed.
answers = sa.Table(
    "answers",
    METADATA,
    sa.Column("seq", _ROW_ID, primary_key=True, autoincrement=True),
    sa.Column("namespace", _name(256), nullable=False),
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Column("outcome", sa.String(64), nullable=False),
    sa.Column("conversation", sa.LargeBinary(16)),
    sa.Column("body", sa.LargeBinary),
    sa.Index("ix_answers_namespace_seq", "namespace", "seq"),
    sa.Index("ix_answers_namespace_conversation", "namespace", "conversation", "seq"),
    sqlite_autoincrement=True,
)

#: What an answer may be called: ids of runs and of recalls.
answer_names = sa.Table(
    "answer_names",
    METADATA,
    sa.Column("namespace", _name(256), primary_key=True),
    sa.Column("name", sa.LargeBinary(16), primary_key=True),
    sa.Column("answer", sa.BigInteger, nullable=False),
    sa.Index("ix_answer_names_answer", "answer"),
)

_recall_index = sa.Index("ix_feedback_namespace_recall", feedback.c.namespace, feedback.c.recall_id)

#: A model's answers about the content of chunks. ``tagger`` names model and prompt; a row is
#: deleted with its chunk.
tag_answers = sa.Table(
    "tag_answers",
    METADATA,
    sa.Column("namespace", _name(256), primary_key=True),
    sa.Column("tagger", _name(256), primary_key=True),
    sa.Column("content", sa.LargeBinary(16), primary_key=True),
    sa.Column("tags", sa.Text, nullable=False),
    sa.Index("ix_tag_answers_namespace_content", "namespace", "content"),
)


#: What users say about tags. ``seq`` follows commit order within a namespace; ``body`` (JSON)
#: holds the tags, what stands in their place, and the chunks of a split.
tag_corrections = sa.Table(
    "tag_corrections",
    METADATA,
    sa.Column("seq", _ROW_ID, primary_key=True, autoincrement=True),
    sa.Column("namespace", _name(256), nullable=False),
    sa.Column("id", _name(64), nullable=False),
    sa.Column("kind", sa.String(16), nullable=False),
    sa.Column("actor", _name(512)),
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Column("body", sa.Text, nullable=False),
    sa.UniqueConstraint("namespace", "id", name="uq_tag_corrections_namespace_id"),
    sqlite_autoincrement=True,
)


def _add_tag_corrections(connection: sa.Connection) -> None:
    tag_corrections.create(connection)


def _add_tag_answers(connection: sa.Connection) -> None:
    tag_answers.create(connection)


def _add_answers(connection: sa.Connection) -> None:
    answers.create(connection)
    answer_names.create(connection)
    _recall_index.create(connection)


def _add_column(column: sa.Column[Any]) -> Callable[[sa.Connection], None]:
    def add(connection: sa.Connection) -> None:
        kind = column.type.compile(connection.dialect)
        connection.execute(sa.text(f"ALTER TABLE chunks ADD COLUMN {column.name} {kind}"))

    return add


def _add_validity(connection: sa.Connection) -> None:
    for column in (chunks.c.validity, chunks.c.version_of):
        _add_column(column)(connection)
    for index in _dated_indexes:
        index.create(connection)


@functools.lru_cache(maxsize=4)
def creation(dialect: sa.Dialect) -> tuple[str, ...]:
    """Return the statements that make every table; ``create_all`` compiles them each time."""
    tables = METADATA.sorted_tables
    indexes = [index for table in tables for index in table.indexes]
    statements: list[sa.schema.ExecutableDDLElement] = [
        *(CreateTable(table, if_not_exists=True) for table in tables),
        *(CreateIndex(index, if_not_exists=True) for index in indexes),
    ]
    return tuple(str(statement.compile(dialect=dialect)) for statement in statements)


def new_database_id() -> str:
    """Draw a random id."""
    return uuid.uuid4().hex


def _add_history(connection: sa.Connection) -> None:
    for column in (namespaces.c.mark, namespaces.c.feedback_mark):
        kind = column.type.compile(connection.dialect)
        connection.execute(
            sa.text(f"ALTER TABLE namespaces ADD COLUMN {column.name} {kind} NOT NULL DEFAULT 0")
        )
    commits.create(connection)
    _vectors_index.create(connection)
    held = connection.execute(
        sa.select(namespaces.c.namespace, namespaces.c.generation).where(
            namespaces.c.generation > 0
        )
    )
    for name, generation in held.all():
        mark = secrets.randbits(62) + 1
        connection.execute(
            sa.update(namespaces).where(namespaces.c.namespace == name).values(mark=mark)
        )
        connection.execute(
            sa.insert(commits).values(namespace=name, generation=generation, mark=mark)
        )
    connection.execute(sa.insert(meta).values(key="database_id", value=new_database_id()))


#: ``MIGRATIONS[n]`` brings a database of version n to version n + 1, in one transaction.
MIGRATIONS: Mapping[int, Callable[[sa.Connection], None]] = {
    1: _add_tag_answers,
    2: _add_column(chunks.c.imprint),
    3: _add_history,
    4: _add_column(chunks.c.links),
    5: _add_tag_corrections,
    6: _add_answers,
    7: _add_validity,
}
