"""The truth: what depends on one chunk alone, the feedback log, and recent recalls.

========================  ==============================================================
:mod:`.schema`            the tables, and the steps from older versions
:mod:`.database`          connections, transactions, retries, errors
:mod:`.driver`            what differs between database systems
:mod:`.os_errors`         errors of the file system as errors of this library
:mod:`.sqlite`            the driver of SQLite; hebbgraph-scale has that of PostgreSQL
:mod:`.places`            where an index lies: a directory or a URL
:mod:`.truth`             one namespace: state, writes, changes since a commit
:mod:`.build_settings`    the build settings of a namespace, saved when it is made
:mod:`.state`             the row of a namespace: its state, its lock, and changes since a commit
:mod:`.chunks`            reading chunks by row and by id
:mod:`.chunk_rows`        a chunk as the columns of its row, and back
:mod:`.read_files`        the documents that were read from files
:mod:`.texts`             where texts are: in the database, or in a store of the caller's
:mod:`.facts`             plain metadata values as terms of the lexical index
:mod:`.embeddings`        vectors, and the model that made them
:mod:`.answers`           answers, linked to their lessons
:mod:`.packing`           a recall in few bytes
:mod:`.tag_answers`       answers of tagging models, cached
:mod:`.tag_corrections`   users' corrections of tags, in commit order
:mod:`.history`           the commits that led to the present truth
:mod:`.feedback_log`      what was cited, in commit order
:mod:`.feedback_rows`     feedback as rows
:mod:`.recalls`           recent recalls by id, kept on request
:mod:`.backup`            backups, made and restored while the index is in use
:mod:`.forks`             closes connections before a fork
========================  ==============================================================
"""
