"""The truth: what depends on one chunk alone, the feedback log, and recent recalls.

========================  ==============================================================
:mod:`.schema`            the tables, and the steps from older versions
:mod:`.database`          connections, transactions, retries, errors in our own words
:mod:`.driver`            what differs between database systems
:mod:`.os_errors`         errors of the file system in our own words
:mod:`.sqlite`            the driver of SQLite; hebbgraph-scale has that of PostgreSQL
:mod:`.places`            what users name as a place: a directory or a URL
:mod:`.truth`             one namespace: settings, state, writes, changes since a commit
:mod:`.state`             the state of a namespace, and what changed since a commit
:mod:`.writes`            what one transaction is to do, and what it did
:mod:`.chunks`            reading chunks by row and by id
:mod:`.chunk_rows`        a chunk as the columns of its row, and back
:mod:`.read_files`        the documents that were read from files
:mod:`.texts`             where texts are: in the database or in a store of the caller's
:mod:`.facts`             plain metadata values as terms of the lexical index
:mod:`.embeddings`        vectors, and the model that made them
:mod:`.answers`           what links answers to their lessons
:mod:`.packing`           a recall in few bytes
:mod:`.tag_answers`       answers of tagging models, so that none is paid for twice
:mod:`.tag_corrections`   what users say about tags, in commit order
:mod:`.history`           which commits led to the present truth
:mod:`.feedback_log`      what was cited, in commit order
:mod:`.feedback_rows`     a feedback as a row, both ways
:mod:`.recalls`           recent recalls by id, where somebody asked for it
:mod:`.backup`            copies made and restored while the index is in use
:mod:`.forks`             no connection is open while a process forks
========================  ==============================================================
"""
