BEGIN TRANSACTION;
CREATE TABLE chunks (
	"row" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	namespace VARCHAR(256) NOT NULL, 
	id VARCHAR(512) NOT NULL, 
	document_id VARCHAR(512), 
	title TEXT NOT NULL, 
	text TEXT NOT NULL, 
	metadata TEXT NOT NULL, 
	tags TEXT NOT NULL, 
	candidates TEXT NOT NULL, 
	digest BLOB NOT NULL, 
	generation BIGINT NOT NULL, 
	vector_epoch INTEGER, 
	vector BLOB, 
	CONSTRAINT uq_chunks_namespace_id UNIQUE (namespace, id)
);
INSERT INTO "chunks" VALUES(1,'default','petrel',NULL,'Petrel','The Petrel was built by Ida Moss.','{}','["ice trade"]','{"title":["petrel"],"given":["ice trade"],"name":["ida moss"],"term":["ida","moss","built"]}',X'64C9A48D913A178D49D21DFBEC90B532',1,NULL,NULL);
INSERT INTO "chunks" VALUES(2,'default','moss',NULL,'Ida Moss','Ida Moss was born in Tessel Bay.','{"year":1840}','[]','{"title":["ida moss"],"name":["tessel bay"],"term":["ida","moss","tessel","bay","born"]}',X'D4CC19F548595215F6E1948C813A661C',1,NULL,NULL);
CREATE TABLE documents (
	namespace VARCHAR(256) NOT NULL, 
	document_id VARCHAR(512) NOT NULL, 
	fingerprint VARCHAR(128) NOT NULL, 
	PRIMARY KEY (namespace, document_id)
);
CREATE TABLE feedback (
	seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	namespace VARCHAR(256) NOT NULL, 
	id VARCHAR(64) NOT NULL, 
	digest BLOB NOT NULL, 
	recall_id VARCHAR(512) NOT NULL, 
	actor VARCHAR(512), 
	origin VARCHAR(512) NOT NULL, 
	created_at DOUBLE NOT NULL, 
	"query" TEXT, 
	body TEXT NOT NULL, 
	vector BLOB, 
	CONSTRAINT uq_feedback_namespace_digest UNIQUE (namespace, digest), 
	CONSTRAINT uq_feedback_namespace_id UNIQUE (namespace, id)
);
INSERT INTO "feedback" VALUES(1,'default','2032da101adc40d487638f5cd88bd939',X'80D9BA1D7E5229D9DC7E7F79E149125E','first',NULL,'',1700000000.0,NULL,'{"shown":[{"chunk_id":"petrel","rank":1,"text_hash":"0116149c5214e49d"},{"chunk_id":"moss","rank":2,"text_hash":"b418430e192a6f3f"}],"cited":["moss"],"rejected":[],"cues":[{"tag":"petrel","weight":1.0986122886681098}],"terms":[["b912b1773509a467",1.0986122886681098],["e8b6eebb1d487eb3",1.0986122886681098],["729e7b4161c87feb",1.0986122886681098]],"paths":[[{"kind":"tag","value":"petrel","title":"","weight":0.0},{"kind":"chunk","value":"petrel","title":"","weight":0.0},{"kind":"tag","value":"ida moss","title":"","weight":0.0},{"kind":"chunk","value":"moss","title":"","weight":0.0}]],"embedder":null}',NULL);
CREATE TABLE meta (
	"key" VARCHAR(64) NOT NULL, 
	value TEXT NOT NULL, 
	PRIMARY KEY ("key")
);
INSERT INTO "meta" VALUES('application','hebbgraph');
INSERT INTO "meta" VALUES('schema_version','1');
CREATE TABLE namespaces (
	namespace VARCHAR(256) NOT NULL, 
	generation BIGINT NOT NULL, 
	floor BIGINT NOT NULL, 
	build_settings TEXT NOT NULL, 
	embedding TEXT, 
	feedback_added BIGINT DEFAULT '0' NOT NULL, 
	feedback_removed BIGINT DEFAULT '0' NOT NULL, 
	PRIMARY KEY (namespace)
);
INSERT INTO "namespaces" VALUES('default',3,0,'{"language": "english"}',NULL,1,0);
CREATE TABLE tombstones (
	"row" BIGINT NOT NULL, 
	namespace VARCHAR(256) NOT NULL, 
	generation BIGINT NOT NULL, 
	PRIMARY KEY ("row")
);
INSERT INTO "tombstones" VALUES(3,'default',3);
CREATE INDEX ix_chunks_namespace_document ON chunks (namespace, document_id);
CREATE INDEX ix_chunks_namespace_generation ON chunks (namespace, generation);
CREATE INDEX ix_tombstones_namespace_generation ON tombstones (namespace, generation);
CREATE INDEX ix_feedback_namespace_seq ON feedback (namespace, seq);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('chunks',3);
INSERT INTO "sqlite_sequence" VALUES('feedback',1);
COMMIT;
