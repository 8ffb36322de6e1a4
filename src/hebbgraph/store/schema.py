"""Tables of the truth, and the steps that bring an older database to this version.

The database holds only what depends on one chunk alone, plus the settings; whatever
depends on the whole corpus is derived (:mod:`hebbgraph.derived.parts`). Every row
carries its namespace.
"""

from __future__ import annotations

import functools
import secrets
import uuid
from collections.abc import Callable, Mapping

import sqlalchemy as sa
from sqlalchemy.schema import CreateIndex, CreateTable

__all__ = [
    "METADATA",
    "MIGRATIONS",
    "SCHEMA_VERSION",
    "chunks",
    "commits",
    "creation",
    "documents",
    "feedback",
    "meta",
    "namespaces",
    "new_database_id",
    "tag_answers",
    "tombstones",
]

SCHEMA_VERSION = 4

METADATA = sa.MetaData()


def _name(length: int) -> sa.String:
    """A string that orders by its bytes, as SQLite and Python order it, on any server."""
    return sa.String(length).with_variant(sa.String(length, collation="C"), "postgresql")


#: Facts about the database itself: ``schema_version``, ``application``, ``database_id``.
meta = sa.Table(
    "meta",
    METADATA,
    sa.Column("key", sa.String(64), primary_key=True),
    sa.Column("value", sa.Text, nullable=False),
)

#: One row a tenant. ``generation`` counts committed batches: its update is the first
#: statement of a write, so that generations follow commit order on every database.
#: ``floor`` is the oldest generation from which small steps are still possible.
namespaces = sa.Table(
    "namespaces",
    METADATA,
    sa.Column("namespace", _name(256), primary_key=True),
    sa.Column("generation", sa.BigInteger, nullable=False),
    sa.Column("floor", sa.BigInteger, nullable=False),
    sa.Column("build_settings", sa.Text, nullable=False),
    # Which model the vectors are of (EmbeddingState as JSON); NULL before the first.
    sa.Column("embedding", sa.Text),
    # How often feedback came, and how often some was taken away: the one lets a reader
    # go on with what is new, the other makes it start again.
    sa.Column("feedback_added", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("feedback_removed", sa.BigInteger, nullable=False, server_default="0"),
    # Random, drawn anew with each generation and with each change of the feedback log: in
    # a database that was put back from a copy, the same numbers come again.
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
    # What is known of a text that is kept elsewhere (hebbgraph.store.texts).
    sa.Column("imprint", sa.LargeBinary(24)),
    # Last, so that reading the others passes over it. The epoch tells vectors of the
    # present model from those that re-embedding has not reached.
    sa.Column("vector_epoch", sa.Integer),
    sa.Column("vector", sa.LargeBinary),
    sa.UniqueConstraint("namespace", "id", name="uq_chunks_namespace_id"),
    sa.Index("ix_chunks_namespace_generation", "namespace", "generation"),
    sa.Index("ix_chunks_namespace_document", "namespace", "document_id"),
    sqlite_autoincrement=True,
)

#: Counts vectors without a look at the chunks; empty where there are none.
_vectors_index = sa.Index(
    "ix_chunks_namespace_vector_epoch",
    chunks.c.namespace,
    chunks.c.vector_epoch,
    sqlite_where=chunks.c.vector_epoch.is_not(None),
    postgresql_where=chunks.c.vector_epoch.is_not(None),
)

#: Rows that are gone; they hold nothing of the chunk.
tombstones = sa.Table(
    "tombstones",
    METADATA,
    sa.Column("row", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("namespace", _name(256), nullable=False),
    sa.Column("generation", sa.BigInteger, nullable=False),
    sa.Index("ix_tombstones_namespace_generation", "namespace", "generation"),
)

#: What a document looked like when it was read, so that an unchanged file is skipped.
documents = sa.Table(
    "documents",
    METADATA,
    sa.Column("namespace", _name(256), primary_key=True),
    sa.Column("document_id", _name(512), primary_key=True),
    sa.Column("fingerprint", sa.String(512), nullable=False),
)

#: What was cited. ``seq`` follows commit order within a namespace, for it is given out
#: under the lock on the namespace's row. ``digest`` names recall, citation and actor, so
#: that the same feedback counts once. ``body`` is JSON and holds, with ``vector``, all
#: that learning reads; ``query`` is kept only if a setting says so.
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

#: What a model answered about a chunk's content, so that it is asked once. ``tagger`` names
#: model and prompt; the row goes when the chunk goes that it is about.
tag_answers = sa.Table(
    "tag_answers",
    METADATA,
    sa.Column("namespace", _name(256), primary_key=True),
    sa.Column("tagger", _name(256), primary_key=True),
    sa.Column("content", sa.LargeBinary(16), primary_key=True),
    sa.Column("tags", sa.Text, nullable=False),
    sa.Index("ix_tag_answers_namespace_content", "namespace", "content"),
)


def _add_tag_answers(connection: sa.Connection) -> None:
    tag_answers.create(connection)


def _add_imprints(connection: sa.Connection) -> None:
    kind = chunks.c.imprint.type.compile(connection.dialect)
    connection.execute(sa.text(f"ALTER TABLE chunks ADD COLUMN imprint {kind}"))


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
    """Draw an id that no other database has."""
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
    2: _add_imprints,
    3: _add_history,
}
