-- One token bucket per key of a model provider, shared by all workers.

CREATE TABLE buckets (
    key        text PRIMARY KEY,
    capacity   double precision NOT NULL CHECK (capacity >= 1),
    per_second double precision NOT NULL CHECK (per_second > 0),
    tokens     double precision NOT NULL,
    filled_at  timestamptz NOT NULL DEFAULT clock_timestamp()
);
