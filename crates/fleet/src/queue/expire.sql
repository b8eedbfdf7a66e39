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
    RETURNING t.run, t.trial, t.attempt, before.worker, t.model
), kept AS (
    INSERT INTO attempts (run, trial, attempt, worker, verdict, void_cause)
    SELECT run, trial, attempt, worker, 'void', 'worker_lost' FROM lost
), daily AS (
    UPDATE caps c
    SET spent_usd = CASE WHEN c.day = (clock_timestamp() AT TIME ZONE 'UTC')::date THEN c.spent_usd ELSE 0 END + n.usd,
        reserved_usd = greatest(0, c.reserved_usd - n.usd), day = (clock_timestamp() AT TIME ZONE 'UTC')::date
    FROM (SELECT c.kind, c.name, coalesce(sum(r.trial_usd), 0) AS usd
          FROM caps c, lost JOIN runs r USING (run)
          WHERE c.kind = 'day' OR (c.kind = 'model' AND c.name = lost.model)
                OR (c.kind = 'key' AND c.name = split_part(lost.model, '/', 1))
          GROUP BY c.kind, c.name) n
    WHERE c.kind = n.kind AND c.name = n.name
    RETURNING c.kind
), booked AS (
    UPDATE runs r
    SET spent_usd = r.spent_usd + r.trial_usd * n.lost, reserved_usd = greatest(0, r.reserved_usd - r.trial_usd * n.lost)
    FROM (SELECT run, count(*) AS lost FROM lost GROUP BY run) n
    WHERE r.run = n.run AND r.max_usd IS NOT NULL AND (SELECT count(*) FROM daily) >= 0
), told AS (
    SELECT pg_notify('apprentice_queue', '') FROM (SELECT FROM lost LIMIT 1) one
)
SELECT (SELECT count(*) FROM lost), (SELECT count(*) FROM told)
