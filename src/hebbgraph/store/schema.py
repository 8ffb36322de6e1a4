"""Tables of the truth, and migrations from older versions.

The database holds settings, feedback, and what depends on one chunk alone; what depends on the
whole corpus is derived (:mod:`hebbgraph.derived`). Every row carries its namespace. The
statements are the same for every database system, whose own names replace ``{bytes}`` and the like.
"""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hebbgraph.store.database import Connection

__all__ = ["MIGRATIONS", "SCHEMA_VERSION", "TABLES", "Types", "creation", "new_database_id"]

SCHEMA_VERSION = 11

#: A system's names for ``row`` (a number that is never reused), ``bytes``, ``real``,
#: ``bytewise`` (strings that sort as in Python) and ``compact`` (a table that is its own index).
Types = Mapping[str, str]

_TAG_ANSWERS = """CREATE TABLE tag_answers (
    namespace VARCHAR(256) {bytewise} NOT NULL,
    tagger VARCHAR(256) {bytewise} NOT NULL,
    content {bytes} NOT NULL,
    tags TEXT NOT NULL,
    PRIMARY KEY (namespace, tagger, content)
)"""
_COMMITS = """CREATE TABLE commits (
    namespace VARCHAR(256) {bytewise} NOT NULL,
    generation BIGINT NOT NULL,
    mark BIGINT NOT NULL,
    PRIMARY KEY (namespace, generation)
) {compact}"""
_TAG_CORRECTIONS = """CREATE TABLE tag_corrections (
    seq {row},
    namespace VARCHAR(256) {bytewise} NOT NULL,
    id VARCHAR(64) {bytewise} NOT NULL,
    kind VARCHAR(16) NOT NULL,
    actor VARCHAR(512) {bytewise},
    created_at {real} NOT NULL,
    body TEXT NOT NULL,
    CONSTRAINT uq_tag_corrections_namespace_id UNIQUE (namespace, id)
)"""
_ANSWERS = """CREATE TABLE answers (
    seq {row},
    namespace VARCHAR(256) {bytewise} NOT NULL,
    created_at {real} NOT NULL,
    outcome VARCHAR(64) NOT NULL,
    conversation {bytes},
    body {bytes}
)"""
_ANSWER_NAMES = """CREATE TABLE answer_names (
    namespace VARCHAR(256) {bytewise} NOT NULL,
    name {bytes} NOT NULL,
    answer BIGINT NOT NULL,
    PRIMARY KEY (namespace, name)
)"""
_RECALLS = """CREATE TABLE recalls (
    seq {row},
    namespace VARCHAR(256) {bytewise} NOT NULL,
    id VARCHAR(512) {bytewise} NOT NULL,
    keep BIGINT NOT NULL,
    body {bytes} NOT NULL,
    vector {bytes},
    checksum BIGINT NOT NULL,
    CONSTRAINT uq_recalls_namespace_id UNIQUE (namespace, id)
)"""

#: Each table, in the order of creation.
TABLES: Mapping[str, str] = {
    # schema_version, application, database_id.
    "meta": """CREATE TABLE meta (
    key VARCHAR(64) NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (key)
)""",
    # One row per tenant. ``generation`` counts commits; updating it is the first statement of a
    # write, which makes generations follow commit order. ``floor`` is the oldest generation from
    # which small steps are possible. ``embedding`` is the model of the vectors (EmbeddingState as
    # JSON). Added feedback is read on; after some was removed, readers start over. The marks are
    # random for each generation and each change of the feedback log, because a database restored
    # from a copy reaches the same numbers again.
    "namespaces": """CREATE TABLE namespaces (
    namespace VARCHAR(256) {bytewise} NOT NULL,
    generation BIGINT NOT NULL,
    floor BIGINT NOT NULL,
    build_settings TEXT NOT NULL,
    embedding TEXT,
    feedback_added BIGINT DEFAULT 0 NOT NULL,
    feedback_removed BIGINT DEFAULT 0 NOT NULL,
    mark BIGINT DEFAULT 0 NOT NULL,
    feedback_mark BIGINT DEFAULT 0 NOT NULL,
    PRIMARY KEY (namespace)
)""",
    # Every generation of a namespace and its mark (hebbgraph.store.history).
    "commits": _COMMITS,
    # ``row`` is never reused: a replaced chunk gets a new one. ``imprint`` stands for a text kept
    # elsewhere; ``version_of`` is the id of the chunk that this is an old version of. ``links``,
    # ``validity`` and ``context`` are NULL without any. The vector comes last, since other columns
    # are then read without it; its epoch distinguishes the present model from former ones.
    "chunks": """CREATE TABLE chunks (
    "row" {row},
    namespace VARCHAR(256) {bytewise} NOT NULL,
    id VARCHAR(512) {bytewise} NOT NULL,
    document_id VARCHAR(512) {bytewise},
    title TEXT NOT NULL,
    text TEXT NOT NULL,
    metadata TEXT NOT NULL,
    tags TEXT NOT NULL,
    candidates TEXT NOT NULL,
    digest {bytes} NOT NULL,
    generation BIGINT NOT NULL,
    imprint {bytes},
    links TEXT,
    validity TEXT,
    version_of VARCHAR(512) {bytewise},
    context TEXT,
    vector_epoch INTEGER,
    vector {bytes},
    CONSTRAINT uq_chunks_namespace_id UNIQUE (namespace, id)
)""",
    # Deleted rows, without their content.
    "tombstones": """CREATE TABLE tombstones (
    "row" BIGINT NOT NULL,
    namespace VARCHAR(256) {bytewise} NOT NULL,
    generation BIGINT NOT NULL,
    PRIMARY KEY ("row")
)""",
    # Fingerprints of files, by which unchanged ones are skipped, and when they were read.
    "documents": """CREATE TABLE documents (
    namespace VARCHAR(256) {bytewise} NOT NULL,
    document_id VARCHAR(512) {bytewise} NOT NULL,
    fingerprint VARCHAR(512) NOT NULL,
    indexed_at {real},
    PRIMARY KEY (namespace, document_id)
)""",
    # What was cited. ``seq`` is drawn under the lock on the namespace's row, so it follows commit
    # order within a namespace. ``digest`` identifies recall and actor: the same feedback counts
    # once. ``body`` (JSON) and ``vector`` hold all that learning reads; ``query`` is kept only on
    # request.
    "feedback": """CREATE TABLE feedback (
    seq {row},
    namespace VARCHAR(256) {bytewise} NOT NULL,
    id VARCHAR(64) {bytewise} NOT NULL,
    digest {bytes} NOT NULL,
    recall_id VARCHAR(512) {bytewise} NOT NULL,
    actor VARCHAR(512) {bytewise},
    origin VARCHAR(512) NOT NULL,
    created_at {real} NOT NULL,
    query TEXT,
    body TEXT NOT NULL,
    vector {bytes},
    CONSTRAINT uq_feedback_namespace_digest UNIQUE (namespace, digest),
    CONSTRAINT uq_feedback_namespace_id UNIQUE (namespace, id)
)""",
    # Answers that a learner has read (hebbgraph.store.answers), bounded in number and age. They
    # link a later verdict or turn of the conversation to the lessons. ``body`` is NULL if nothing
    # can follow. Conversations and names are hashed.
    "answers": _ANSWERS,
    # Names of answers: ids of runs and of recalls.
    "answer_names": _ANSWER_NAMES,
    # Recent recalls, kept on request for late feedback (hebbgraph.store.recalls).
    "recalls": _RECALLS,
    # A model's tags for the content of chunks. ``tagger`` names model and prompt; a row is
    # deleted with its chunk.
    "tag_answers": _TAG_ANSWERS,
    # Users' corrections of tags. ``seq`` follows commit order within a namespace; ``body`` (JSON)
    # holds the tags, what replaces them, and the chunks of a split.
    "tag_corrections": _TAG_CORRECTIONS,
}

_BY_RECALL = "CREATE INDEX ix_feedback_namespace_recall ON feedback (namespace, recall_id)"
_BY_CONTENT = "CREATE INDEX ix_tag_answers_namespace_content ON tag_answers (namespace, content)"
#: Counts vectors without reading chunks. Without vectors it is empty.
_BY_EPOCH = (
    "CREATE INDEX ix_chunks_namespace_vector_epoch ON chunks (namespace, vector_epoch) "
    "WHERE vector_epoch IS NOT NULL"
)
#: Finds dated chunks and old versions without reading chunks. Without any it is empty.
_BY_DATE = (
    'CREATE INDEX ix_chunks_namespace_dated ON chunks (namespace, "row") '
    "WHERE validity IS NOT NULL",
    "CREATE INDEX ix_chunks_namespace_version_of ON chunks (namespace, version_of) "
    "WHERE version_of IS NOT NULL",
)
_BY_AGE = "CREATE INDEX ix_recalls_namespace_seq ON recalls (namespace, seq, keep)"
_OF_ANSWERS = (
    "CREATE INDEX ix_answers_namespace_seq ON answers (namespace, seq)",
    "CREATE INDEX ix_answers_namespace_conversation ON answers (namespace, conversation, seq)",
    "CREATE INDEX ix_answer_names_answer ON answer_names (answer)",
)
_INDEXES = (
    "CREATE INDEX ix_chunks_namespace_generation ON chunks (namespace, generation)",
    "CREATE INDEX ix_chunks_namespace_document ON chunks (namespace, document_id)",
    "CREATE INDEX ix_tombstones_namespace_generation ON tombstones (namespace, generation)",
    "CREATE INDEX ix_feedback_namespace_seq ON feedback (namespace, seq)",
    _BY_RECALL,
    _BY_CONTENT,
    _BY_EPOCH,
    *_BY_DATE,
    *_OF_ANSWERS,
    _BY_AGE,
)


def creation(types: Types) -> list[str]:
    """Return the statements that create every table and index."""
    return [*(table.format_map(types) for table in TABLES.values()), *_INDEXES]


def new_database_id() -> str:
    """Draw a random id."""
    return uuid.uuid4().hex


def _step(*statements: str) -> Callable[[Connection, Types], None]:
    def run(connection: Connection, types: Types) -> None:
        for statement in statements:
            connection.execute(statement.format_map(types))

    return run


def _add_history(connection: Connection, types: Types) -> None:
    for column in ("mark", "feedback_mark"):
        connection.execute(f"ALTER TABLE namespaces ADD COLUMN {column} BIGINT NOT NULL DEFAULT 0")
    connection.execute(_COMMITS.format_map(types))
    connection.execute(_BY_EPOCH)
    states = connection.execute(
        "SELECT namespace, generation FROM namespaces WHERE generation > 0"
    ).fetchall()
    for name, generation in states:
        mark = secrets.randbits(62) + 1
        connection.execute("UPDATE namespaces SET mark = ? WHERE namespace = ?", (mark, name))
        connection.execute("INSERT INTO commits VALUES (?, ?, ?)", (name, generation, mark))
    connection.execute("INSERT INTO meta VALUES ('database_id', ?)", (new_database_id(),))


#: ``MIGRATIONS[n]`` brings a database from version n to version n + 1, in a transaction.
MIGRATIONS: Mapping[int, Callable[[Connection, Types], None]] = {
    1: _step(_TAG_ANSWERS, _BY_CONTENT),
    2: _step("ALTER TABLE chunks ADD COLUMN imprint {bytes}"),
    3: _add_history,
    4: _step("ALTER TABLE chunks ADD COLUMN links TEXT"),
    5: _step(_TAG_CORRECTIONS),
    6: _step(_ANSWERS, _ANSWER_NAMES, *_OF_ANSWERS, _BY_RECALL),
    7: _step(
        "ALTER TABLE chunks ADD COLUMN validity TEXT",
        "ALTER TABLE chunks ADD COLUMN version_of VARCHAR(512) {bytewise}",
        *_BY_DATE,
    ),
    8: _step("ALTER TABLE chunks ADD COLUMN context TEXT"),
    9: _step(_RECALLS, _BY_AGE, "DELETE FROM meta WHERE key = 'recall_key'"),
    10: _step("ALTER TABLE documents ADD COLUMN indexed_at {real}"),
}
