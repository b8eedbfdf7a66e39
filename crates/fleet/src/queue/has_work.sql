-- $1 build, $2 offers, $3 runs and experiments that the worker cannot carry out
SELECT EXISTS (
    SELECT FROM trials t JOIN runs r USING (run)
    WHERE r.state = 'open' AND r.build = $1 AND t.needs <@ $2 AND t.run <> ALL ($3)
      AND (t.state = 'running' OR t.state = 'waiting'
           AND (r.max_usd IS NULL OR r.spent_usd + r.reserved_usd + r.trial_usd <= r.max_usd)
           AND NOT EXISTS (
               SELECT FROM caps c
               WHERE (c.kind = 'day' OR (c.kind = 'model' AND c.name = t.model)
                      OR (c.kind = 'key' AND c.name = split_part(t.model, '/', 1)))
                 AND (r.trial_usd IS NULL OR r.trial_usd > c.max_usd - CASE
                      WHEN c.day = (clock_timestamp() AT TIME ZONE 'UTC')::date THEN c.spent_usd + c.reserved_usd
                      ELSE c.reserved_usd END))))
    OR EXISTS (SELECT FROM experiments WHERE state = 'open' AND build = $1 AND experiment <> ALL ($3))
