CREATE TABLE series (
    series INTEGER PRIMARY KEY, id TEXT NOT NULL, source TEXT NOT NULL, family TEXT, label TEXT, unit TEXT NOT NULL,
    sentence TEXT NOT NULL, step_ns INTEGER NOT NULL, model TEXT, created_ns INTEGER NOT NULL,
    removed INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE UNIQUE INDEX series_id ON series (id) WHERE removed = 0;
CREATE TABLE sample (
    t_ns INTEGER NOT NULL, series INTEGER NOT NULL, value REAL NOT NULL, PRIMARY KEY (t_ns, series)
) WITHOUT ROWID, STRICT;
CREATE TABLE minute (
    series INTEGER NOT NULL, t_ns INTEGER NOT NULL, mean REAL NOT NULL, min REAL NOT NULL, max REAL NOT NULL,
    n INTEGER NOT NULL, PRIMARY KEY (series, t_ns)
) WITHOUT ROWID, STRICT;
CREATE TABLE forecast (
    t_ns INTEGER NOT NULL, series INTEGER NOT NULL, lead_ns INTEGER NOT NULL, mean REAL NOT NULL,
    standard_error REAL NOT NULL, PRIMARY KEY (t_ns, series, lead_ns)
) WITHOUT ROWID, STRICT;
CREATE TABLE progress (minutes_until_ns INTEGER NOT NULL) STRICT;
INSERT INTO progress VALUES (60000000000);
PRAGMA application_id = 0x46545350;
PRAGMA user_version = 1;
INSERT INTO series VALUES
    (1, 'load.1m', 'sensor', 'load.1m', NULL, 'tasks', 'Load.', 1000000000, NULL, 0, 0),
    (2, 'mine', 'pushed', NULL, NULL, 'requests', 'My own.', 5000000000, 'AR(16)', 0, 0);
INSERT INTO sample VALUES (60000000000, 1, 0.5), (61000000000, 1, 0.75), (60000000000, 2, 3.0);
INSERT INTO minute VALUES (1, 0, 0.25, 0.0, 0.5, 60);
INSERT INTO forecast VALUES (62000000000, 1, 1000000000, 0.8, 0.1);
