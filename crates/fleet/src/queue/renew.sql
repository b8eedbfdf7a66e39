-- $1 worker, $2 runs, $3 trials, $4 attempts, $5 seconds of the lease
WITH seen AS (
    UPDATE workers SET seen_at = clock_timestamp() WHERE worker = $1 RETURNING state
), kept AS (
    UPDATE trials t SET lease_until = clock_timestamp() + make_interval(secs => $5)
    FROM unnest($2::text[], $3::text[], $4::integer[]) AS held (run, trial, attempt), runs r
    WHERE t.run = held.run AND t.trial = held.trial AND t.attempt = held.attempt AND r.run = t.run
      AND t.worker = $1
    RETURNING t.run, t.trial, t.attempt, r.state = 'open' AS open
)
SELECT run, trial, attempt, open FROM kept
