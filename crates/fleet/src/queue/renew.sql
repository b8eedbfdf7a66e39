-- $1 worker, $2 runs, $3 trials, $4 attempts, $5 seconds of the lease
WITH seen AS (
    UPDATE workers SET seen_at = clock_timestamp() WHERE worker = $1 RETURNING state
), mine AS (
    -- One whose result is being stored is left out: its row is locked until that is on the disk, and the others cannot wait.
    SELECT t.run, t.trial, t.attempt, r.state = 'open' AS open
    FROM unnest($2::text[], $3::text[], $4::integer[]) AS held (run, trial, attempt)
    JOIN trials t USING (run, trial, attempt) JOIN runs r USING (run)
    WHERE t.worker = $1
    FOR UPDATE OF t SKIP LOCKED
), kept AS (
    UPDATE trials t SET lease_until = clock_timestamp() + make_interval(secs => $5)
    FROM mine WHERE t.run = mine.run AND t.trial = mine.trial
    RETURNING t.run, t.trial, t.attempt, mine.open
)
SELECT run, trial, attempt, open FROM kept
