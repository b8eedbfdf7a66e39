-- Runs, their trials, and what was delivered. All times are those of the database, so that workers' clocks do not matter.

CREATE TABLE runs (
    run          text PRIMARY KEY,
    -- The order in which runs were submitted.
    seq          bigint GENERATED ALWAYS AS IDENTITY,
    plan         text NOT NULL,
    plan_hash    text NOT NULL,
    -- Program version and prompts. Workers of another build leave the run alone.
    build        text NOT NULL,
    -- Where its artifacts are, and the lists of the files of its suite and of its skillbook.
    artifacts    text NOT NULL,
    suite_list   text NOT NULL,
    suite_path   text NOT NULL,
    book_list    text,
    priority     integer NOT NULL,
    -- Void attempts after which a trial is not tried again.
    attempts     integer NOT NULL,
    -- The cap of the whole run in US dollars, and what one trial may cost.
    max_usd      double precision,
    trial_usd    double precision,
    spent_usd    double precision NOT NULL DEFAULT 0,
    reserved_usd double precision NOT NULL DEFAULT 0,
    state        text NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'cancelled')),
    submitted_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CHECK (max_usd IS NULL OR trial_usd IS NOT NULL)
);

CREATE TABLE trials (
    run         text NOT NULL REFERENCES runs,
    trial       text NOT NULL,
    seq         bigint NOT NULL,
    ord         integer NOT NULL,
    priority    integer NOT NULL,
    spec        text NOT NULL,
    needs       text[] NOT NULL,
    -- The trial that must end before.
    after       text,
    state       text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'running', 'done', 'dead')),
    -- The fencing number: the attempt handed out last. No number is handed out twice.
    attempt     integer NOT NULL DEFAULT 0,
    voids       integer NOT NULL DEFAULT 0,
    -- Attempts whose worker was lost.
    losses      integer NOT NULL DEFAULT 0,
    worker      text,
    lease_until timestamptz,
    PRIMARY KEY (run, trial)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);

CREATE INDEX trials_waiting ON trials (priority DESC, seq, ord) WHERE state = 'waiting';
CREATE INDEX trials_running ON trials (lease_until) WHERE state = 'running';

-- One row per ended attempt. A lost one has no result.
CREATE TABLE attempts (
    id           bigint GENERATED ALWAYS AS IDENTITY,
    run          text NOT NULL,
    trial        text NOT NULL,
    attempt      integer NOT NULL,
    worker       text NOT NULL,
    result       text,
    files        text,
    delivered_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (run, trial, attempt),
    FOREIGN KEY (run, trial) REFERENCES trials
);

-- Results of holders who had lost their lease. They never count.
CREATE TABLE refused (
    run        text NOT NULL,
    trial      text NOT NULL,
    attempt    integer NOT NULL,
    worker     text NOT NULL,
    result     text NOT NULL,
    files      text,
    refused_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (run, trial, attempt, worker)
);

CREATE TABLE workers (
    worker     text PRIMARY KEY,
    build      text NOT NULL,
    offers     text[] NOT NULL,
    state      text NOT NULL DEFAULT 'working' CHECK (state IN ('working', 'draining', 'ended')),
    started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    seen_at    timestamptz NOT NULL DEFAULT clock_timestamp()
);
