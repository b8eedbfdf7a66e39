-- Experiments: who leads one, and the copy of its folder from which another worker goes on.
CREATE TABLE experiments (
    experiment   text PRIMARY KEY,
    seq          bigint GENERATED ALWAYS AS IDENTITY,
    -- The command line as a JSON list, and the list of the files that it names.
    command      text NOT NULL,
    inputs       text NOT NULL,
    build        text NOT NULL,
    artifacts    text NOT NULL,
    priority     integer NOT NULL,
    -- What each trial needs besides its world.
    needs        text[] NOT NULL,
    max_usd      double precision,
    trial_usd    double precision,
    -- The list of the files of its folder, as its leader has left it.
    copy         text,
    -- The fencing number: of a leader whose term is over, nothing is taken.
    term         bigint NOT NULL DEFAULT 0,
    leader       text,
    leader_pid   integer,
    led_until    timestamptz,
    -- Why leaders gave it up.
    failures     integer NOT NULL DEFAULT 0,
    trouble      text,
    state        text NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'done', 'failed', 'cancelled')),
    submitted_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- The experiment of a run, and the artifact with the inputs of its guidance.
ALTER TABLE runs ADD COLUMN experiment text REFERENCES experiments, ADD COLUMN guidance text;

-- Caps per UTC day over all runs: of everything, of a model, or of the key of a provider. An empty name is everything.
CREATE TABLE caps (
    kind         text NOT NULL CHECK (kind IN ('day', 'model', 'key')),
    name         text NOT NULL,
    max_usd      double precision NOT NULL CHECK (max_usd >= 0),
    day          date NOT NULL DEFAULT (clock_timestamp() AT TIME ZONE 'UTC')::date,
    spent_usd    double precision NOT NULL DEFAULT 0,
    reserved_usd double precision NOT NULL DEFAULT 0,
    PRIMARY KEY (kind, name)
);

ALTER TABLE trials ADD COLUMN model text NOT NULL DEFAULT '';
UPDATE trials SET model = coalesce(spec::jsonb ->> 'model', '');

-- A run hands out its own trials in order.
DROP INDEX trials_waiting;
CREATE INDEX trials_waiting ON trials (run, ord) WHERE state = 'waiting';

-- How long models took to answer, by upper bounds in seconds: a histogram over all workers.
CREATE TABLE model_latency (
    model   text NOT NULL,
    le      double precision NOT NULL,
    calls   bigint NOT NULL DEFAULT 0,
    seconds double precision NOT NULL DEFAULT 0,
    PRIMARY KEY (model, le)
);

-- The statement that adds an attempt has just changed its trial: nothing is left to check, and each check costs a query.
ALTER TABLE attempts DROP CONSTRAINT attempts_run_trial_fkey;

-- A table of the queue is changed all the time: its statistics must not wait for a fifth of it to change.
ALTER TABLE trials SET (autovacuum_analyze_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);

-- What is counted of a result, so that counting reads no results.
ALTER TABLE attempts ADD COLUMN verdict text, ADD COLUMN void_cause text, ADD COLUMN cost_usd double precision;
UPDATE attempts
SET verdict = coalesce(result::jsonb ->> 'verdict', 'void'),
    void_cause = CASE WHEN result IS NULL THEN 'worker_lost' ELSE result::jsonb ->> 'void_cause' END,
    cost_usd = (result::jsonb ->> 'cost_usd')::double precision
WHERE result IS NULL OR result NOT LIKE '%\\u0000%';
-- A text may hold a zero byte, with which no jsonb is made. Inside a text, quotes have a backslash before them.
UPDATE attempts
SET verdict = coalesce(substring(result FROM '"verdict":"([a-z_]+)"'), 'void'),
    void_cause = substring(result FROM '"void_cause":"([a-z_]+)"'),
    cost_usd = substring(result FROM '"cost_usd":([0-9.eE+-]+)')::double precision
WHERE result LIKE '%\\u0000%';
