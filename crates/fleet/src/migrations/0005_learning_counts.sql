-- What leaders spend on learning, per UTC day: it counts for the caps.
CREATE TABLE learning (
    experiment text NOT NULL REFERENCES experiments,
    model      text NOT NULL,
    day        date NOT NULL,
    usd        double precision NOT NULL DEFAULT 0,
    PRIMARY KEY (experiment, model, day)
);

-- What ended lately is counted without reading what ended before. Results come in the order of time, so that this is small.
CREATE INDEX attempts_delivered ON attempts USING brin (delivered_at) WITH (autosummarize = on);

-- As before, and what was learned today.
CREATE OR REPLACE FUNCTION set_cap(of_kind text, of_name text, usd double precision) RETURNS void LANGUAGE plpgsql AS $cap$
BEGIN
    LOCK TABLE caps IN SHARE ROW EXCLUSIVE MODE;
    IF usd IS NULL THEN
        DELETE FROM caps WHERE kind = of_kind AND name = of_name;
        RETURN;
    END IF;
    INSERT INTO caps (kind, name, max_usd, spent_usd, reserved_usd)
    SELECT of_kind, of_name, usd,
           (SELECT coalesce(sum(coalesce(a.cost_usd, r.trial_usd)), 0)
            FROM attempts a JOIN trials t USING (run, trial) JOIN runs r USING (run)
            WHERE a.delivered_at >= date_trunc('day', clock_timestamp() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'
              AND (of_kind = 'day' OR (of_kind = 'model' AND of_name = t.model)
                   OR (of_kind = 'key' AND of_name = split_part(t.model, '/', 1))))
           + (SELECT coalesce(sum(l.usd), 0) FROM learning l
              WHERE l.day = (clock_timestamp() AT TIME ZONE 'UTC')::date
                AND (of_kind = 'day' OR (of_kind = 'model' AND of_name = l.model)
                     OR (of_kind = 'key' AND of_name = split_part(l.model, '/', 1)))),
           (SELECT coalesce(sum(r.trial_usd), 0)
            FROM trials t JOIN runs r USING (run)
            WHERE t.state = 'running'
              AND (of_kind = 'day' OR (of_kind = 'model' AND of_name = t.model)
                   OR (of_kind = 'key' AND of_name = split_part(t.model, '/', 1))))
    ON CONFLICT (kind, name) DO UPDATE SET max_usd = excluded.max_usd;
END $cap$;
