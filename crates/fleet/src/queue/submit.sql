-- $1 run, $2 plan, $3 hash, $4 build, $5 artifacts, $6 suite list, $7 suite path, $8 book list, $9 priority,
-- $10 attempts, $11 cap, $12 cap per trial, $13 trials, $14 specs, $15 needs separated by line breaks, $16 trials before,
-- $17 models, $18 experiment, $19 artifact of its guidance
WITH added AS (
    INSERT INTO runs (run, plan, plan_hash, build, artifacts, suite_list, suite_path, book_list, priority, attempts,
                      max_usd, trial_usd, experiment, guidance)
    SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $18, $19
    -- The lock makes this wait for whoever is just ending the experiment, and sees then that it has ended.
    WHERE $18::text IS NULL OR EXISTS (SELECT FROM experiments WHERE experiment = $18 AND state = 'open' FOR SHARE)
    ON CONFLICT (run) DO NOTHING
    RETURNING run, seq
), queued AS (
    INSERT INTO trials (run, trial, seq, ord, priority, spec, needs, after, model)
    SELECT added.run, one.trial, added.seq, one.ord, $9, one.spec,
           CASE WHEN one.needs = '' THEN '{}' ELSE string_to_array(one.needs, E'\n') END, nullif(one.after, ''), one.model
    FROM added, unnest($13::text[], $14::text[], $15::text[], $16::text[], $17::text[])
         WITH ORDINALITY AS one (trial, spec, needs, after, model, ord)
    RETURNING trial
), safe AS (
    SELECT set_config('synchronous_commit', 'on', true) FROM added
), told AS (
    SELECT pg_notify('apprentice_queue', '') FROM added
)
SELECT (SELECT count(*) FROM queued), (SELECT count(*) FROM told), (SELECT count(*) FROM safe)
