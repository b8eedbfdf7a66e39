-- $1 losses after which a trial is dead
WITH held AS (
    SELECT pg_try_advisory_xact_lock(hashtextextended('apprentice_queue.expire', 0)) AS mine
), late AS (
    SELECT t.run, t.trial FROM trials t
    WHERE t.state = 'running' AND t.lease_until < clock_timestamp() AND (SELECT mine FROM held)
    FOR UPDATE SKIP LOCKED
), lost AS (
    UPDATE trials t
    SET state = CASE WHEN t.losses + 1 >= $1 THEN 'dead' ELSE 'waiting' END,
        losses = t.losses + 1, worker = NULL, lease_until = NULL
    FROM late
    -- The old row still names the worker.
    JOIN trials before ON before.run = late.run AND before.trial = late.trial
    WHERE t.run = late.run AND t.trial = late.trial
    RETURNING t.run, t.trial, t.attempt, before.worker
), kept AS (
    INSERT INTO attempts (run, trial, attempt, worker) SELECT run, trial, attempt, worker FROM lost
), booked AS (
    UPDATE runs r
    SET spent_usd = r.spent_usd + r.trial_usd * n.lost, reserved_usd = greatest(0, r.reserved_usd - r.trial_usd * n.lost)
    FROM (SELECT run, count(*) AS lost FROM lost GROUP BY run) n
    WHERE r.run = n.run AND r.max_usd IS NOT NULL
), told AS (
    SELECT pg_notify('apprentice_queue', '') FROM (SELECT FROM lost LIMIT 1) one
)
SELECT (SELECT count(*) FROM lost), (SELECT count(*) FROM told)
