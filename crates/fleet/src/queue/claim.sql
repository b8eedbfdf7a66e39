-- $1 worker, $2 build, $3 offers, $4 runs that the worker cannot carry out, $5 seconds of the lease
WITH next AS MATERIALIZED (
    SELECT t.run, t.trial, r.max_usd IS NOT NULL AS capped
    FROM trials t JOIN runs r USING (run)
    WHERE t.state = 'waiting' AND r.state = 'open' AND r.build = $2 AND t.needs <@ $3 AND t.run <> ALL ($4)
      AND (t.after IS NULL OR EXISTS (
          SELECT FROM trials p WHERE p.run = t.run AND p.trial = t.after AND p.state IN ('done', 'dead')))
      AND (r.max_usd IS NULL OR r.spent_usd + r.reserved_usd + r.trial_usd <= r.max_usd)
      AND NOT EXISTS (SELECT FROM workers w WHERE w.worker = $1 AND w.state = 'draining')
    ORDER BY t.priority DESC, t.seq, t.ord
    LIMIT 1
    FOR UPDATE OF t SKIP LOCKED
), paid AS (
    -- The row lock on the run makes claims of a capped run take turns, and each sees what the one before reserved.
    UPDATE runs r SET reserved_usd = r.reserved_usd + r.trial_usd
    FROM next
    WHERE next.capped AND r.run = next.run AND r.spent_usd + r.reserved_usd + r.trial_usd <= r.max_usd
    RETURNING r.run
)
UPDATE trials t
SET state = 'running', attempt = t.attempt + 1, worker = $1,
    lease_until = clock_timestamp() + make_interval(secs => $5)
FROM next
WHERE t.run = next.run AND t.trial = next.trial AND (NOT next.capped OR EXISTS (SELECT FROM paid))
RETURNING t.run, t.spec, t.attempt
