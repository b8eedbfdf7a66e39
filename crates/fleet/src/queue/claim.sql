-- $1 worker, $2 build, $3 offers, $4 runs that the worker cannot carry out, $5 seconds of the lease
WITH next AS MATERIALIZED (
    -- Runs are few and come first; of each, its index hands out the first waiting trial that fits.
    SELECT t.run, t.trial, t.model, r.trial_usd, r.max_usd IS NOT NULL AS capped
    FROM (
        SELECT run, priority, seq, trial_usd, max_usd FROM runs
        WHERE state = 'open' AND build = $2 AND run <> ALL ($4)
          AND (max_usd IS NULL OR spent_usd + reserved_usd + trial_usd <= max_usd)
        ORDER BY priority DESC, seq
    ) r CROSS JOIN LATERAL (
        SELECT w.run, w.trial, w.model FROM trials w
        WHERE w.run = r.run AND w.state = 'waiting' AND w.needs <@ $3
          AND (w.after IS NULL OR EXISTS (
              SELECT FROM trials p WHERE p.run = w.run AND p.trial = w.after AND p.state IN ('done', 'dead')))
          AND NOT EXISTS (
              SELECT FROM caps c
              WHERE (c.kind = 'day' OR (c.kind = 'model' AND c.name = w.model)
                     OR (c.kind = 'key' AND c.name = split_part(w.model, '/', 1)))
                AND (r.trial_usd IS NULL OR r.trial_usd > c.max_usd - CASE
                     WHEN c.day = (clock_timestamp() AT TIME ZONE 'UTC')::date THEN c.spent_usd + c.reserved_usd
                     ELSE c.reserved_usd END))
        ORDER BY w.ord
        LIMIT 1
        FOR UPDATE SKIP LOCKED
    ) t
    WHERE NOT EXISTS (SELECT FROM workers WHERE worker = $1 AND state = 'draining')
    ORDER BY r.priority DESC, r.seq
    LIMIT 1
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
