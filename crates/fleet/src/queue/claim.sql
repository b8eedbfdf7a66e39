-- $1 worker, $2 build, $3 offers, $4 runs that the worker cannot carry out, $5 seconds of the lease
WITH next AS MATERIALIZED (
    SELECT t.run, t.trial, t.model, r.trial_usd, r.max_usd IS NOT NULL AS capped
    FROM trials t JOIN runs r USING (run)
    WHERE t.state = 'waiting' AND r.state = 'open' AND r.build = $2 AND t.needs <@ $3 AND t.run <> ALL ($4)
      AND (t.after IS NULL OR EXISTS (
          SELECT FROM trials p WHERE p.run = t.run AND p.trial = t.after AND p.state IN ('done', 'dead')))
      AND (r.max_usd IS NULL OR r.spent_usd + r.reserved_usd + r.trial_usd <= r.max_usd)
      AND NOT EXISTS (SELECT FROM workers w WHERE w.worker = $1 AND w.state = 'draining')
      AND NOT EXISTS (
          SELECT FROM caps c
          WHERE (c.kind = 'day' OR (c.kind = 'model' AND c.name = t.model)
                 OR (c.kind = 'key' AND c.name = split_part(t.model, '/', 1)))
            AND (r.trial_usd IS NULL OR r.trial_usd > c.max_usd - CASE
                 WHEN c.day = (clock_timestamp() AT TIME ZONE 'UTC')::date THEN c.spent_usd + c.reserved_usd
                 ELSE c.reserved_usd END))
    ORDER BY t.priority DESC, t.seq, t.ord
    LIMIT 1
    FOR UPDATE OF t SKIP LOCKED
), daily AS MATERIALIZED (
    -- The row locks make claims under one cap take turns, in one order, and each sees what the one before reserved.
    SELECT c.kind, c.name, next.trial_usd <= c.max_usd - CASE
           WHEN c.day = (clock_timestamp() AT TIME ZONE 'UTC')::date THEN c.spent_usd + c.reserved_usd
           ELSE c.reserved_usd END AS fits
    FROM caps c, next
    WHERE c.kind = 'day' OR (c.kind = 'model' AND c.name = next.model)
          OR (c.kind = 'key' AND c.name = split_part(next.model, '/', 1))
    ORDER BY c.kind, c.name
    FOR UPDATE OF c
), paid AS (
    -- Likewise for the cap of the run.
    UPDATE runs r SET reserved_usd = r.reserved_usd + r.trial_usd
    FROM next
    WHERE next.capped AND (SELECT coalesce(bool_and(fits), true) FROM daily)
      AND r.run = next.run AND r.spent_usd + r.reserved_usd + r.trial_usd <= r.max_usd
    RETURNING r.run
), may AS MATERIALIZED (
    SELECT (SELECT coalesce(bool_and(fits), true) FROM daily)
           AND (NOT next.capped OR EXISTS (SELECT FROM paid)) AS begin
    FROM next
), reserved AS (
    UPDATE caps c
    SET day = (clock_timestamp() AT TIME ZONE 'UTC')::date,
        spent_usd = CASE WHEN c.day = (clock_timestamp() AT TIME ZONE 'UTC')::date THEN c.spent_usd ELSE 0 END,
        reserved_usd = c.reserved_usd + next.trial_usd
    FROM daily, next
    WHERE c.kind = daily.kind AND c.name = daily.name AND (SELECT begin FROM may)
)
UPDATE trials t
SET state = 'running', attempt = t.attempt + 1, worker = $1,
    lease_until = clock_timestamp() + make_interval(secs => $5)
FROM next
WHERE t.run = next.run AND t.trial = next.trial AND (SELECT begin FROM may)
RETURNING t.run, t.spec, t.attempt
