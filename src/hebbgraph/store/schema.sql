-- The tables of a namespace. {id} is a column that numbers rows and never reuses a number, {blob}
-- bytes, {number} a whole number or fraction, kept exactly, {exact} text that compares byte by byte,
-- {LONG} the length of a text in metadata beyond which it is not indexed.

CREATE TABLE $meta(key {exact} PRIMARY KEY, value {exact} NOT NULL);
CREATE TABLE $chunk(
    row {id}, id {exact} UNIQUE NOT NULL, digest {exact} NOT NULL, document_id {exact},
    title {exact} NOT NULL, text {exact} NOT NULL, metadata {exact} NOT NULL,
    given {exact} NOT NULL, length BIGINT NOT NULL, proposed {blob} NOT NULL);
CREATE INDEX $$chunk_document ON $chunk(document_id);
CREATE INDEX $$chunk_digest ON $chunk(digest);
CREATE TABLE $held(row BIGINT PRIMARY KEY, words {blob} NOT NULL, tags {blob} NOT NULL);
CREATE TABLE $term(
    id {id}, kind INTEGER NOT NULL, key {exact} NOT NULL, df BIGINT NOT NULL DEFAULT 0,
    proposals BIGINT NOT NULL DEFAULT 0, titles BIGINT NOT NULL DEFAULT 0,
    given BIGINT NOT NULL DEFAULT 0, support BIGINT NOT NULL DEFAULT 0);
CREATE UNIQUE INDEX $$term_key ON $term(kind, key);
CREATE TABLE $common(word {exact} PRIMARY KEY);
CREATE TABLE $opening(word {exact} PRIMARY KEY, longest INTEGER NOT NULL);
CREATE TABLE $posting(
    block {id}, term BIGINT NOT NULL, first BIGINT NOT NULL, data {blob} NOT NULL);
CREATE UNIQUE INDEX $$posting_first ON $posting(term, first);
CREATE TABLE $fact(key {exact} NOT NULL, number {number}, string {exact}, row BIGINT NOT NULL);
CREATE INDEX $$fact_string ON $fact(key, string, number, row) WHERE length(string) <= {LONG};
CREATE INDEX $$fact_long ON $fact(key, row) WHERE length(string) > {LONG};
CREATE INDEX $$fact_number ON $fact(key, number, row) WHERE string IS NULL;
CREATE INDEX $$fact_row ON $fact(row);
CREATE TABLE $embedding(
    seq {id}, row BIGINT UNIQUE NOT NULL, stamp BIGINT NOT NULL, data {blob} NOT NULL);
CREATE INDEX $$embedding_stamp ON $embedding(row, stamp, seq);
CREATE TABLE $gone(seq BIGINT PRIMARY KEY, stamp BIGINT NOT NULL);
CREATE TABLE $lesson(
    seq {id}, id {exact} UNIQUE NOT NULL, question_key {exact} NOT NULL, actor {exact},
    recall {exact} NOT NULL,
    created {number} NOT NULL, body {exact} NOT NULL, cues {blob} NOT NULL, path {blob} NOT NULL,
    vector {blob});
CREATE INDEX $$lesson_question ON $lesson(question_key);
CREATE INDEX $$lesson_actor ON $lesson(actor);
CREATE INDEX $$lesson_recall ON $lesson(recall);
CREATE TABLE $taught(
    sum {id}, digest {exact} NOT NULL, kind INTEGER NOT NULL, square {number} NOT NULL,
    vector_square {number} NOT NULL, cues {blob} NOT NULL, vector {blob} NOT NULL);
CREATE UNIQUE INDEX $$taught_digest ON $taught(digest, kind);
CREATE TABLE $learned(
    block {id}, cue BIGINT NOT NULL, first BIGINT NOT NULL, data {blob} NOT NULL);
CREATE UNIQUE INDEX $$learned_first ON $learned(cue, first);
CREATE TABLE $answered(
    question_key {exact} NOT NULL, digest {exact} NOT NULL, belief {number} NOT NULL,
    PRIMARY KEY (question_key, digest));
CREATE TABLE $kept(seq {id}, id {exact} NOT NULL, answer {exact} NOT NULL, body {exact} NOT NULL);
CREATE INDEX $$kept_id ON $kept(id);
CREATE INDEX $$kept_answer ON $kept(answer);
CREATE TABLE $pending(row BIGINT PRIMARY KEY, tokens {exact});
CREATE TABLE $changed(term BIGINT PRIMARY KEY);
