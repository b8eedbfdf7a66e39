-- $1 run, $2 trial, $3 attempt, $4 worker, $5 result, $6 list of files, $7 US dollars, $8 final, void or interrupted
WITH mine AS (
    UPDATE trials t
    SET state = CASE WHEN $8 = 'final' OR ($8 = 'void' AND t.voids + 1 >= r.attempts) THEN 'done' ELSE 'waiting' END,
        voids = t.voids + ($8 = 'void')::integer, worker = NULL, lease_until = NULL
    FROM runs r
    WHERE r.run = t.run AND t.run = $1 AND t.trial = $2 AND t.attempt = $3 AND t.worker = $4 AND t.state = 'running'
    RETURNING t.run, t.trial, t.state
), known AS (
    -- The same delivery, whose answer was lost.
    SELECT result FROM attempts WHERE run = $1 AND trial = $2 AND attempt = $3 AND worker = $4 AND result = $5
), kept AS (
    INSERT INTO attempts (run, trial, attempt, worker, result, files)
    SELECT $1, $2, $3, $4, $5, $6 FROM mine
), late AS (
    INSERT INTO refused (run, trial, attempt, worker, result, files)
    SELECT $1, $2, $3, $4, $5, $6 WHERE NOT EXISTS (SELECT FROM mine) AND NOT EXISTS (SELECT FROM known)
    ON CONFLICT DO NOTHING
    RETURNING run
), settled AS (
    UPDATE runs r
    SET spent_usd = r.spent_usd + coalesce($7, r.trial_usd),
        reserved_usd = greatest(0, r.reserved_usd - r.trial_usd)
    WHERE r.run = $1 AND r.max_usd IS NOT NULL AND EXISTS (SELECT FROM mine)
), regretted AS (
    -- A lost attempt was booked with all that it might have cost. Now its cost is known.
    UPDATE runs r SET spent_usd = greatest(0, r.spent_usd + coalesce($7, r.trial_usd) - r.trial_usd)
    WHERE r.run = $1 AND r.max_usd IS NOT NULL AND EXISTS (SELECT FROM late)
), told AS (
    SELECT pg_notify('apprentice_queue', '') FROM mine WHERE state = 'waiting'
)
SELECT CASE WHEN EXISTS (SELECT FROM mine) THEN 'taken' WHEN EXISTS (SELECT FROM known) THEN 'taken' ELSE 'refused' END,
       (SELECT count(*) FROM told)
