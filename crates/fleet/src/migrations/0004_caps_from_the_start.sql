-- Trials of an experiment that had ended when a leader last met trouble: whether it went on since.
ALTER TABLE experiments ADD COLUMN ended bigint NOT NULL DEFAULT 0;

-- Sets a cap per UTC day, or lifts it (NULL). A new one knows what was spent today and what trials under way may cost. The
-- lock comes before the sums: no claim and no result falls between them and the row.
CREATE FUNCTION set_cap(of_kind text, of_name text, usd double precision) RETURNS void LANGUAGE plpgsql AS $cap$
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
                   OR (of_kind = 'key' AND of_name = split_part(t.model, '/', 1)))),
           (SELECT coalesce(sum(r.trial_usd), 0)
            FROM trials t JOIN runs r USING (run)
            WHERE t.state = 'running'
              AND (of_kind = 'day' OR (of_kind = 'model' AND of_name = t.model)
                   OR (of_kind = 'key' AND of_name = split_part(t.model, '/', 1))))
    ON CONFLICT (kind, name) DO UPDATE SET max_usd = excluded.max_usd;
END $cap$;
