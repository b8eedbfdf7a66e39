-- $1 run, $2 trial, $3 attempt, $4 worker, $5 result, $6 list of files, $7 US dollars, $8 final, void or interrupted,
-- $9 verdict, $10 cause if void
WITH mine AS (
    UPDATE trials t
    SET state = CASE WHEN $8 = 'final' OR ($8 = 'void' AND t.voids + 1 >= r.attempts) THEN 'done' ELSE 'waiting' END,
        voids = t.voids + ($8 = 'void')::integer, worker = NULL, lease_until = NULL
    FROM runs r
    -- Only a running trial has a worker. By its key alone, however few are running, it is found at once.
    WHERE r.run = t.run AND t.run = $1 AND t.trial = $2 AND t.attempt = $3 AND t.worker = $4
    RETURNING t.run, t.trial, t.state, t.model, r.trial_usd
), safe AS (
    -- A claim may be lost by a crash of the database, as it is made again then. A result may not.
    SELECT set_config('synchronous_commit', 'on', true)
), known AS (
    -- The same delivery, whose answer was lost.
    SELECT result FROM attempts WHERE run = $1 AND trial = $2 AND attempt = $3 AND worker = $4 AND result = $5
), kept AS (
    INSERT INTO attempts (run, trial, attempt, worker, result, files, verdict, void_cause, cost_usd)
    SELECT $1, $2, $3, $4, $5, $6, $9, $10, $7 FROM mine
), late AS (
    INSERT INTO refused (run, trial, attempt, worker, result, files)
    SELECT $1, $2, $3, $4, $5, $6 WHERE NOT EXISTS (SELECT FROM mine) AND NOT EXISTS (SELECT FROM known)
    ON CONFLICT DO NOTHING
    RETURNING run
), lost AS MATERIALIZED (
    -- A lost attempt was booked with all that it might have cost, when it was lost. Now its cost is known.
    SELECT a.delivered_at, t.model, $7 - r.trial_usd AS more
    FROM late JOIN attempts a ON a.run = late.run AND a.trial = $2 AND a.attempt = $3 AND a.worker = $4 AND a.result IS NULL
         JOIN trials t ON t.run = a.run AND t.trial = a.trial JOIN runs r ON r.run = a.run
    WHERE $7 IS NOT NULL AND r.trial_usd IS NOT NULL
), priced AS (
    UPDATE attempts SET cost_usd = $7 FROM lost
    WHERE run = $1 AND trial = $2 AND attempt = $3
), daily AS (
    -- Caps before the run, as a claim does, so that none waits for the other.
    UPDATE caps c
    SET spent_usd = CASE WHEN c.day = (clock_timestamp() AT TIME ZONE 'UTC')::date THEN c.spent_usd ELSE 0 END
                    + coalesce($7, mine.trial_usd, 0),
        reserved_usd = greatest(0, c.reserved_usd - coalesce(mine.trial_usd, 0)),
        day = (clock_timestamp() AT TIME ZONE 'UTC')::date
    FROM mine
    WHERE c.kind = 'day' OR (c.kind = 'model' AND c.name = mine.model)
          OR (c.kind = 'key' AND c.name = split_part(mine.model, '/', 1))
    RETURNING c.kind
), corrected AS (
    UPDATE caps c SET spent_usd = greatest(0, c.spent_usd + lost.more)
    FROM lost
    WHERE (c.kind = 'day' OR (c.kind = 'model' AND c.name = lost.model)
           OR (c.kind = 'key' AND c.name = split_part(lost.model, '/', 1)))
      AND c.day = (lost.delivered_at AT TIME ZONE 'UTC')::date
    RETURNING c.kind
), settled AS (
    UPDATE runs r
    SET spent_usd = r.spent_usd + coalesce($7, r.trial_usd),
        reserved_usd = greatest(0, r.reserved_usd - r.trial_usd)
    WHERE r.run = $1 AND r.max_usd IS NOT NULL AND EXISTS (SELECT FROM mine) AND (SELECT count(*) FROM daily) >= 0
), regretted AS (
    UPDATE runs r SET spent_usd = greatest(0, r.spent_usd + lost.more)
    FROM lost
    WHERE r.run = $1 AND r.max_usd IS NOT NULL AND (SELECT count(*) FROM corrected) >= 0
), told AS (
    SELECT pg_notify('apprentice_queue', '') FROM mine WHERE state = 'waiting'
)
SELECT CASE WHEN EXISTS (SELECT FROM mine) THEN 'taken' WHEN EXISTS (SELECT FROM known) THEN 'taken' ELSE 'refused' END,
       (SELECT count(*) FROM told), (SELECT count(*) FROM safe)
