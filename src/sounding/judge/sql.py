"""Every SQL statement of the judging server, for both databases.

Parameters are written `:name`. Types that SQLite and PostgreSQL spell differently are in braces, only in the
schema: `{text}`, `{bytes}`, `{number}`. Both compare texts by their bytes.
"""

from __future__ import annotations

SELECTION = (
    "policy", "policy_version", "step", "stratum", "probability", "belief", "weight", "seed", "model_version",
    "known",
)  # fmt: skip
EVENT = (
    "sequence", "kind", "time", "topic", "doc", "assessor", "grade", "comment", "active", "away", "key",
    *SELECTION, "detail",
)  # fmt: skip
LEASE = ("topic", "doc", "assessor", "position", "expires", *SELECTION)
USER = ("id", "name", "role", "pseudonym", "password_hash", "active", "created")
TOPIC = (
    "id", "version", "title", "description", "narrative", "status", "estimate", "author", "time",
)  # fmt: skip

_DESIGN = """
  policy {text}, policy_version {number}, step {number}, stratum {number},
  probability DOUBLE PRECISION, belief DOUBLE PRECISION, weight DOUBLE PRECISION,
  seed {number}, model_version {number}, known {number}"""

VERSION = 1  # of the schema; other versions are refused
SCHEMA = (
    "CREATE TABLE schema_version (version INTEGER PRIMARY KEY)",
    f"""CREATE TABLE event (
  sequence {{number}} PRIMARY KEY,
  kind {{text}} NOT NULL,
  time DOUBLE PRECISION NOT NULL,
  topic {{text}}, doc {{text}}, assessor {{text}},
  grade DOUBLE PRECISION, comment {{text}} NOT NULL,
  active DOUBLE PRECISION, away DOUBLE PRECISION,
  key {{text}},{_DESIGN},
  detail {{text}} NOT NULL)""",
    "CREATE UNIQUE INDEX event_key ON event (assessor, key) WHERE key IS NOT NULL",
    "CREATE INDEX event_pair ON event (topic, doc, assessor, sequence)",
    "CREATE INDEX event_assessor ON event (assessor, topic)",
    "CREATE INDEX event_topic ON event (sequence) WHERE kind = 'topic'",
    # Current judgments by the rule of `sounding.data.judgment_log`; a test compares both.
    """CREATE VIEW standing AS
SELECT e.* FROM event e
WHERE e.kind = 'judge' AND NOT EXISTS (
  SELECT 1 FROM event l
  WHERE l.topic = e.topic AND l.doc = e.doc AND l.assessor = e.assessor AND l.sequence > e.sequence
    AND l.kind IN ('judge', 'withdraw'))""",
    # Keys of submissions that recorded nothing; `stood` is the event that already said the same.
    """CREATE TABLE void_key (
  assessor {text} NOT NULL, key {text} NOT NULL, topic {text} NOT NULL, doc {text}, stood {number},
  PRIMARY KEY (assessor, key))""",
    f"""CREATE TABLE lease (
  topic {{text}} NOT NULL, doc {{text}} NOT NULL, assessor {{text}} NOT NULL,
  position {{number}} NOT NULL, expires DOUBLE PRECISION NOT NULL,{_DESIGN},
  PRIMARY KEY (topic, doc, assessor))""",
    "CREATE INDEX lease_assessor ON lease (assessor, topic, position)",
    """CREATE TABLE account (
  id {number} PRIMARY KEY, name {text} NOT NULL, folded {text} NOT NULL UNIQUE, role {text} NOT NULL,
  pseudonym {text} NOT NULL UNIQUE, password_hash {text}, active {number} NOT NULL,
  created DOUBLE PRECISION NOT NULL)""",
    """CREATE TABLE topic (
  id {text} NOT NULL, version {number} NOT NULL, title {text} NOT NULL, description {text} NOT NULL,
  narrative {text} NOT NULL, status {text} NOT NULL, estimate {number}, author {text},
  time DOUBLE PRECISION NOT NULL, PRIMARY KEY (id, version))""",
    """CREATE TABLE assignment (
  topic {text} NOT NULL, assessor {text} NOT NULL REFERENCES account (pseudonym),
  PRIMARY KEY (topic, assessor))""",
    """CREATE TABLE run (
  name {text} PRIMARY KEY, sequence {number} NOT NULL REFERENCES event (sequence),
  content {bytes} NOT NULL)""",
    """CREATE TABLE sign_in (
  digest {text} PRIMARY KEY, account {number} NOT NULL REFERENCES account (id),
  created DOUBLE PRECISION NOT NULL, expires DOUBLE PRECISION NOT NULL, note {text} NOT NULL)""",
    """CREATE TABLE token (
  digest {text} PRIMARY KEY, account {number} NOT NULL REFERENCES account (id), kind {text} NOT NULL,
  expires DOUBLE PRECISION NOT NULL)""",
    """CREATE TABLE search (
  sequence {number} PRIMARY KEY, time DOUBLE PRECISION NOT NULL, assessor {text} NOT NULL, topic {text},
  query {text} NOT NULL, doc {text}, results {number}, first_hit {number}, total {number})""",
    "CREATE TABLE setting (name {text} PRIMARY KEY, value {text} NOT NULL)",
)

# The database itself refuses to change or remove events.
APPEND_ONLY = {
    "sqlite": tuple(
        f"CREATE TRIGGER event_{act} BEFORE {act} ON event"
        " BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END"
        for act in ("update", "delete")
    ),
    "postgresql": (
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN RAISE EXCEPTION 'the log is append-only'; END $$",
        "CREATE TRIGGER event_change BEFORE UPDATE OR DELETE OR TRUNCATE ON event"
        " FOR EACH STATEMENT EXECUTE FUNCTION refuse()",
    ),
}
SPELLING = {
    "sqlite": {"text": "TEXT", "bytes": "BLOB", "number": "INTEGER"},
    "postgresql": {"text": 'TEXT COLLATE "C"', "bytes": "BYTEA", "number": "BIGINT"},
}

# All tables with data, in an order in which rows can be added, and the columns that identify a row.
COPIED = {
    "event": "sequence", "account": "id", "topic": "id, version", "assignment": "topic, assessor",
    "run": "sequence", "void_key": "assessor, key", "lease": "topic, doc, assessor", "sign_in": "digest",
    "token": "digest", "search": "sequence", "setting": "name",
}  # fmt: skip
# A database from which the project has moved refuses every change, also by a server that still runs on it.
MOVED = "the project has moved to another database; restart the server"
RETIRE = {
    "sqlite": tuple(
        f"CREATE TRIGGER IF NOT EXISTS {table}_moved_{act} BEFORE {act} ON {table}"
        f" BEGIN SELECT RAISE(ABORT, '{MOVED}'); END"
        for table in COPIED
        for act in ("insert", "update", "delete")
    ),
    "postgresql": (
        "CREATE OR REPLACE FUNCTION refuse_moved() RETURNS trigger LANGUAGE plpgsql AS"
        f" $$ BEGIN RAISE EXCEPTION '{MOVED}'; END $$",
        *(
            statement
            for table in COPIED
            for statement in (
                f"DROP TRIGGER IF EXISTS {table}_moved ON {table}",
                f"CREATE TRIGGER {table}_moved BEFORE INSERT OR UPDATE OR DELETE ON {table}"
                " FOR EACH ROW EXECUTE FUNCTION refuse_moved()",
            )
        ),
    ),
}
REVIVE = {
    "sqlite": tuple(
        f"DROP TRIGGER IF EXISTS {table}_moved_{act}"
        for table in COPIED
        for act in ("insert", "update", "delete")
    ),
    "postgresql": tuple(f"DROP TRIGGER IF EXISTS {table}_moved ON {table}" for table in COPIED),
}

TABLES = {  # all tables where ours would be created
    "sqlite": "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name",
    "postgresql": (
        "SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema() ORDER BY tablename"
    ),
}
HAS_LOG = {  # in any place where statements would find it
    "sqlite": "SELECT count(*) AS found FROM sqlite_master WHERE name = 'event'",
    "postgresql": "SELECT to_regclass('event') IS NOT NULL AS found",
}
SCHEMA_VERSION = "SELECT max(version) AS version FROM schema_version"
SET_VERSION = "INSERT INTO schema_version (version) VALUES (:version)"


def _columns(names: tuple[str, ...], prefix: str = "") -> str:
    return ", ".join(prefix + name for name in names)


def page_of(table: str) -> str:
    """Return the query of a page of a table: all rows, or those after a sequence number."""
    if COPIED[table] != "sequence":
        return f"SELECT * FROM {table} ORDER BY {COPIED[table]}"
    return f"SELECT * FROM {table} WHERE sequence > :after ORDER BY sequence LIMIT :count"


def copy_of(table: str, columns: tuple[str, ...]) -> str:
    """Return the statement that adds a row with these columns."""
    return _insert(table, columns)


def _where(names: str, *more: str) -> str:
    """Return a WHERE clause: columns equal the parameters of the same name, and further conditions hold."""
    conditions = [*(f"{name} = :{name}" for name in names.split()), *more]
    return f" WHERE {' AND '.join(conditions)}" if conditions else ""


def narrowed(statements: dict[str, str], **given: str | None) -> tuple[str, dict[str, str]]:
    """Return the statement for the given parameters, and these."""
    named = {name: value for name, value in given.items() if value is not None}
    return statements[" ".join(named)], named


def _insert(table: str, names: tuple[str, ...]) -> str:
    return f"INSERT INTO {table} ({_columns(names)}) VALUES ({_columns(names, ':')})"


_EVENTS = f"SELECT {_columns(EVENT)} FROM event"
_STANDING = f"SELECT {_columns(EVENT)} FROM standing"
_LEASES = f"SELECT {_columns(LEASE)} FROM lease"
_USERS = f"SELECT {_columns(USER)} FROM account"
_TOPICS = f"SELECT {_columns(TOPIC)} FROM topic"
_NEWEST = f"{_TOPICS} AS t WHERE version = (SELECT max(version) FROM topic AS n WHERE n.id = t.id)"

# ---- the log
LAST_EVENT = "SELECT sequence, time FROM event ORDER BY sequence DESC LIMIT 1"
ADD_EVENT = _insert("event", EVENT)
EVENT_OF_KEY = f"{_EVENTS} WHERE assessor = :assessor AND key = :key"
VOID_KEY = "SELECT topic, doc, stood FROM void_key WHERE assessor = :assessor AND key = :key"
ADD_VOID_KEY = _insert("void_key", ("assessor", "key", "topic", "doc", "stood"))
EVENTS = f"{_EVENTS} WHERE sequence > :after AND sequence <= :until ORDER BY sequence LIMIT :count"
GRADINGS = (
    f"{_EVENTS} WHERE (topic, doc, assessor, sequence) > (:topic, :doc, :assessor, :sequence)"
    " AND sequence <= :until AND kind IN ('judge', 'withdraw', 'adjudicate')"
    " ORDER BY topic, doc, assessor, sequence LIMIT :count"
)
# `topic IS NULL` lets the index by assessor find these few.
AUDITS = f"{_EVENTS} WHERE assessor = :assessor AND topic IS NULL AND kind = 'audit' ORDER BY sequence"
TOPIC_EVENTS = f"{_EVENTS} WHERE kind = 'topic' AND sequence <= :until ORDER BY sequence"
PLAN_EVENTS = (
    f"{_EVENTS} WHERE kind IN ('project', 'topic', 'run', 'order') AND sequence <= :until ORDER BY sequence"
)
JUDGED_TOPICS = (
    "SELECT DISTINCT topic FROM event AS e WHERE kind IN ('judge', 'adjudicate') AND sequence <= :until"
    " AND NOT EXISTS (SELECT 1 FROM event AS w WHERE w.topic = e.topic AND w.doc = e.doc"
    " AND w.assessor = e.assessor AND w.kind = 'withdraw' AND w.sequence > e.sequence"
    " AND w.sequence <= :until) ORDER BY topic"
)
LAST_OF_PAIR = (
    f"{_EVENTS} WHERE topic = :topic AND doc = :doc AND assessor = :assessor"
    " AND kind IN ('judge', 'withdraw') ORDER BY sequence DESC LIMIT 1"
)
# Actions of an assessor, including undone ones, newest first.
_ACTS = f"{_EVENTS} WHERE assessor = :assessor AND topic = :topic AND sequence < :before"
_ACT_KINDS = "kind IN ('judge', 'withdraw', 'skip', 'unskip') ORDER BY sequence DESC LIMIT :count"
ACTS = {"": f"{_ACTS} AND {_ACT_KINDS}", "doc": f"{_ACTS} AND doc = :doc AND {_ACT_KINDS}"}
STANDING = {
    names: f"{_STANDING}{_where(names)} ORDER BY sequence"
    for names in ("", "topic", "assessor", "topic assessor", "topic doc", "topic assessor doc")
}
PROGRESS = (
    "SELECT topic, grade, count(*) AS judged FROM standing WHERE assessor = :assessor"
    " GROUP BY topic, grade ORDER BY topic"
)
JUDGED_BY = "SELECT count(*) AS judged FROM standing WHERE assessor = :assessor AND topic = :topic"
JUDGMENTS_OF_ASSESSORS = "SELECT assessor, count(*) AS judged FROM standing GROUP BY assessor"

# Labels by machines, of which the last of a document counts.
LABELS_BY = (
    "SELECT topic, doc, grade FROM event WHERE assessor = :assessor AND kind = 'label' AND sequence <= :until"
    " ORDER BY sequence"
)
LABELS_SEEN = (
    "SELECT assessor, grade FROM event WHERE topic = :topic AND doc = :doc AND kind = 'label' AND sequence <"
    " (SELECT max(sequence) FROM event WHERE topic = :topic AND doc = :doc AND assessor = :assessor"
    " AND kind = 'withdraw') ORDER BY sequence"
)
LABELS_OF = (
    "SELECT assessor, grade FROM event WHERE topic = :topic AND doc = :doc AND kind = 'label'"
    " ORDER BY sequence"
)

# ---- leases
DROP_EXPIRED = "DELETE FROM lease WHERE expires <= :now"
OWN_LEASES = f"{_LEASES} WHERE assessor = :assessor AND topic = :topic ORDER BY position"
ADD_LEASE = _insert("lease", LEASE)
LEASE_OF_PAIR = f"{_LEASES} WHERE topic = :topic AND doc = :doc AND assessor = :assessor"
RENEW = "UPDATE lease SET expires = :expires WHERE assessor = :assessor AND expires > :now"
RENEW_TOPIC = "UPDATE lease SET expires = :expires WHERE assessor = :assessor AND topic = :topic"
# The assessors who hold or have judged a document, and how they got it.
HOLDERS = (
    "SELECT assessor, policy FROM lease WHERE topic = :topic AND doc = :doc AND expires > :now"
    " UNION SELECT assessor, policy FROM standing WHERE topic = :topic AND doc = :doc"
)
LEASES = {
    names: f"{_LEASES}{_where(names, 'expires > :now')} ORDER BY topic, position, assessor"
    for names in ("", "topic", "assessor", "topic assessor")
}
RELEASE = {names: f"DELETE FROM lease{_where(f'assessor {names}')}" for names in ("", "topic", "topic doc")}
RELEASE_TOPIC = "DELETE FROM lease WHERE topic = :topic"

# ---- people
NEXT_USER = "SELECT coalesce(max(id), 0) + 1 AS id FROM account"
ADD_USER = _insert("account", (*USER, "folded"))
USER_BY_ID = f"{_USERS} WHERE id = :id"
USER_BY_NAME = f"{_USERS} WHERE folded = :folded"
USERS = f"{_USERS} ORDER BY id"
SET_PASSWORD = "UPDATE account SET password_hash = :password_hash WHERE id = :id"
SET_ROLE = "UPDATE account SET role = :role WHERE id = :id"
SET_ACTIVE = "UPDATE account SET active = :active WHERE id = :id"
# No name begins with a space, so an erased account never blocks a name.
ERASE_USER = (
    "UPDATE account SET name = pseudonym, folded = ' ' || pseudonym, password_hash = NULL, active = 0"
    " WHERE id = :id"
)
ADD_SIGN_IN = _insert("sign_in", ("digest", "account", "created", "expires", "note"))
_SIGN_INS = (
    f"SELECT digest, s.created AS begun, expires, note, {_columns(USER, 'a.')}"
    " FROM sign_in AS s JOIN account AS a ON a.id = s.account"
)
SIGN_IN = f"{_SIGN_INS} WHERE digest = :digest AND expires > :now AND active = 1"
SIGN_INS = f"{_SIGN_INS} WHERE account = :id AND expires > :now ORDER BY begun"
END_SIGN_IN = "DELETE FROM sign_in WHERE digest = :digest"
END_SIGN_INS = "DELETE FROM sign_in WHERE account = :id"
DROP_OLD_SIGN_INS = "DELETE FROM sign_in WHERE expires <= :now"
ADD_TOKEN = _insert("token", ("digest", "account", "kind", "expires"))
TOKEN = (
    f"SELECT kind, {_columns(USER, 'a.')} FROM token AS t JOIN account AS a ON a.id = t.account"
    " WHERE digest = :digest AND expires > :now"
)
DROP_TOKENS = "DELETE FROM token WHERE account = :id"

# ---- topics
NEWEST_TOPIC = f"{_TOPICS} WHERE id = :id ORDER BY version DESC LIMIT 1"
TOPIC_VERSIONS = f"{_TOPICS} WHERE id = :id ORDER BY version"
TOPICS = f"{_NEWEST} ORDER BY id"
TOPICS_OF = (
    f"{_NEWEST} AND EXISTS (SELECT 1 FROM assignment AS a WHERE a.topic = t.id AND a.assessor = :assessor)"
    " ORDER BY id"
)
TOPICS_BY = (
    f"{_NEWEST} AND EXISTS (SELECT 1 FROM topic AS f WHERE f.id = t.id AND f.version = 1"
    " AND f.author = :author) ORDER BY id"
)
ADD_TOPIC = _insert("topic", TOPIC)
ASSIGNED = "SELECT topic FROM assignment WHERE topic = :topic AND assessor = :assessor"
WAS_ASSIGNED = (
    "SELECT topic FROM assignment WHERE topic = :topic AND assessor = :assessor UNION ALL SELECT topic"
    " FROM event WHERE kind = 'assign' AND topic = :topic AND assessor = :assessor LIMIT 1"
)
ASSIGN = "INSERT INTO assignment (topic, assessor) VALUES (:topic, :assessor)"
UNASSIGN = "DELETE FROM assignment WHERE topic = :topic AND assessor = :assessor"
ASSIGNMENTS = "SELECT topic, assessor FROM assignment ORDER BY topic, assessor"

# ---- runs, searches, settings
ADD_RUN = _insert("run", ("name", "sequence", "content"))
RUN = "SELECT content FROM run WHERE name = :name"
RUN_NAMES = "SELECT name FROM run ORDER BY sequence"
SEARCH = ("sequence", "time", "assessor", "topic", "query", "doc", "results", "first_hit", "total")
ADD_SEARCH = _insert("search", SEARCH)
NEXT_SEARCH = "SELECT coalesce(max(sequence), 0) + 1 AS sequence FROM search"
SEARCHES = f"SELECT {_columns(SEARCH)} FROM search WHERE sequence > :after ORDER BY sequence LIMIT :count"
SETTING = "SELECT value FROM setting WHERE name = :name"
SET_SETTING = (
    "INSERT INTO setting (name, value) VALUES (:name, :value)"
    " ON CONFLICT (name) DO UPDATE SET value = excluded.value"
)

# ---- SQLite alone
PRAGMAS = (
    "PRAGMA synchronous=FULL",
    "PRAGMA foreign_keys=ON",
    "PRAGMA trusted_schema=OFF",
    "PRAGMA secure_delete=ON",  # overwrite erased data in the file
    "PRAGMA wal_autocheckpoint=16000",  # pages; large, because the judgment that triggers a write-back waits
)
BACKUP = "VACUUM INTO :path"
# A read-only database accepts BEGIN and COMMIT; only a write such as this one reveals it.
WRITE_NOTHING = "UPDATE setting SET value = value WHERE 1 = 0"
INTEGRITY = "PRAGMA integrity_check"
EMPTY_LOG = "PRAGMA wal_checkpoint(TRUNCATE)"
WRITE_BACK = "PRAGMA wal_checkpoint(PASSIVE)"

# ---- PostgreSQL alone: writers take turns, as those of SQLite do, so that no sequence number comes late
SERVER_VERSION = "SELECT current_setting('server_version') AS version"
# The current time, not that of the start of the transaction.
CLOCK = "SELECT extract(epoch FROM clock_timestamp()) AS now"
# READ COMMITTED whatever the server's default, because a snapshot from before the lock was granted would
# lease documents twice.
BEGIN_IN_TURN = f"BEGIN ISOLATION LEVEL READ COMMITTED; SELECT pg_advisory_xact_lock(7463002); {CLOCK}"
# Numbers of databases are only unique within a server.
IDENTITY = (
    "SELECT system_identifier AS server, (SELECT oid FROM pg_database WHERE datname = current_database())"
    " AS number FROM pg_control_system()"
)

# ---- the corpus and its index, always in a SQLite file of their own
CORPUS = (
    "CREATE TABLE document (number INTEGER PRIMARY KEY, doc TEXT NOT NULL UNIQUE, text TEXT NOT NULL,"
    " title TEXT NOT NULL)",
    # Labeled parts of documents that have them; corpora of earlier releases lack this table.
    "CREATE TABLE part (number INTEGER PRIMARY KEY, parts TEXT NOT NULL)",
    # Marks (Mn, Mc) belong to words; otherwise scripts that write vowels with them would be split.
    """CREATE VIRTUAL TABLE words USING fts5(
  terms, content='', tokenize="unicode61 remove_diacritics 0 categories 'L* N* Co Mn Mc'")""",
)
ADD_DOCUMENT = "INSERT INTO document (number, doc, text, title) VALUES (:number, :doc, :text, :title)"
ADD_PARTS = "INSERT INTO part (number, parts) VALUES (:number, :parts)"
HAS_PARTS = "SELECT count(*) AS found FROM sqlite_master WHERE name = 'part'"
ANY_PARTS = "SELECT 1 FROM part LIMIT 1"
PARTS = "SELECT parts FROM part JOIN document USING (number) WHERE doc = :doc"
ADD_WORDS = "INSERT INTO words (rowid, terms) VALUES (:number, :terms)"
DOCUMENT = "SELECT doc, text, title FROM document WHERE doc = :doc"
DOCUMENT_OF_NUMBER = "SELECT doc, text, title FROM document WHERE number = :number"
COUNT_DOCUMENTS = "SELECT count(*) AS count FROM document"
# Equal ranks in the order of the corpus, so that pages of results neither repeat nor lose hits.
FIND = "SELECT rowid AS number FROM words WHERE words MATCH :query ORDER BY rank, rowid LIMIT :limit"
COUNT_FOUND = "SELECT count(*) AS count FROM words WHERE words MATCH :query"
OPTIMIZE = "INSERT INTO words (words) VALUES ('optimize')"
