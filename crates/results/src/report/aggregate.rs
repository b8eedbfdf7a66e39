//! Aggregation: from rows to arms, templates, totals and versions. Every number of a report is computed here or in
//! `contrast`.

use std::collections::{BTreeMap, BTreeSet};

use apprentice_protocol::{StopReason, Usage, Verdict};

use super::grouping::{Grouped, by_key, clusters};
use super::input::{ArmKey, ReportInput, measured_split};
use super::schema::{
    ArmReport, BaselineReport, ComparisonReport, Headline, JudgeReport, REPORT_SCHEMA, Report, Tally,
    TemplateReport, Totals, TrialLine,
};
use super::{by_program, compute_matched_baselines, contrast, harm, headline, skill_value, wordings};
use crate::stats::{self, Cluster, clustered_rate, mean};
use apprentice_runs::row::{Role, Split, TrialRow};
use apprentice_runs::rows::{self, Trial, trials};

/// Builds the report of a run. Pure: the result does not depend on the order of the rows.
pub fn build(input: &ReportInput<'_>) -> Report {
    let rows: Vec<TrialRow> = input.rows.iter().map(TrialRow::measured).collect();
    let input = &ReportInput { rows: &rows, ..input.clone() };
    let measured_split = measured_split(input.rows);
    let measured: Vec<TrialRow> = input
        .rows
        .iter()
        .filter(|row| measured_split.is_none() || row.split == measured_split)
        .cloned()
        .collect();
    let grouped = by_key(&measured);
    let arms: Vec<ArmReport> = grouped
        .iter()
        .filter(|(key, _)| key.role != Role::Baseline)
        .map(|(key, trials)| arm_report(key, trials))
        .collect();
    let comparisons = contrast::comparisons(&measured, input);
    let all = trials(input.rows);
    let done: BTreeSet<_> = input.rows.iter().map(|row| &row.trial).collect();
    let wordings = wordings::compare(&grouped);
    let headline = headline::headline(&input.title, &arms, &comparisons.made);
    let mut report = Report {
        schema: REPORT_SCHEMA.into(),
        run: input.run.clone(),
        started_at: input.started_at,
        headline: Headline { in_other_words: wordings::sentence(&wordings), ..headline },
        wordings,
        notes: Vec::new(),
        measured_split,
        programs: by_program::programs(&grouped, &input.programs),
        baselines: baselines(&grouped),
        gap_closed: contrast::gaps(&grouped),
        compute_matched: compute_matched_baselines::baselines(&grouped, learned(input, measured_split)),
        strata: contrast::strata(&comparisons.made, &input.strata),
        templates: templates(&grouped, &comparisons.made, input),
        learning: input.learning.clone(),
        replicates: input.replicates.clone(),
        registration: input.registration.clone(),
        hygiene: input.hygiene.clone(),
        skill_values: skill_value::values(&measured),
        harm: harm::cells(&measured, &input.programs),
        voids: rows::voids(&all),
        not_run: input.planned.iter().filter(|trial| !done.contains(&trial.trial)).cloned().collect(),
        eligible: input.eligible.clone(),
        unvaried: input.unvaried.clone(),
        totals: totals(input.rows, all.len()),
        judges: judges(input.rows),
        versions: versions(input.rows),
        facts: input.facts.clone(),
        trials: lines(&all, measured_split),
        comparisons: comparisons.made,
        arms,
    };
    report.notes = headline::notes(input, &report, comparisons.refused);
    report
}

/// The token cost of learning: all attempts on unmeasured tasks, and the reviews; `None` if nothing was learned.
fn learned(input: &ReportInput<'_>, measured_split: Option<Split>) -> Option<f64> {
    let learning = input.learning.as_ref()?;
    let lessons = input.rows.iter().filter(|row| measured_split.is_some() && row.split != measured_split);
    let mut sum = learning.tokens;
    lessons.for_each(|row| sum += row.tokens);
    #[expect(clippy::cast_precision_loss, reason = "tokens of an experiment are far below 2^52")]
    Some((sum.input + sum.output) as f64)
}

fn tally(trials: &[Trial<'_>]) -> Tally {
    let mut tally = Tally::default();
    for trial in trials {
        tally.trials += 1;
        match trial.last.verdict {
            Verdict::Pass => tally.passed += 1,
            Verdict::Fail => tally.failed += 1,
            Verdict::Void => tally.void += 1,
        }
    }
    tally
}

fn arm_report(key: &ArmKey, trials: &[Trial<'_>]) -> ArmReport {
    let judged = || trials.iter().map(|trial| trial.last).filter(|row| row.verdict != Verdict::Void);
    let passed = || judged().filter(|row| row.verdict == Verdict::Pass);
    let attempts = || trials.iter().flat_map(|trial| trial.earlier.iter().copied().chain([trial.last]));
    let clusters: Vec<Cluster> = clusters(trials).into_values().collect();
    let mut stop_reasons = BTreeMap::new();
    for reason in judged().filter_map(|row| row.stop_reason) {
        *stop_reasons.entry(word(reason)).or_insert(0) += 1;
    }
    let early = |row: &&TrialRow| {
        row.verdict == Verdict::Fail && row.stop_reason == Some(StopReason::Done) && row.world_steps <= 1
    };
    let early_ends = u32::try_from(judged().filter(early).count()).unwrap_or(u32::MAX);
    let mut tokens = Usage::default();
    attempts().for_each(|row| tokens += row.tokens);
    #[expect(clippy::cast_precision_loss, reason = "tokens of one trial are far below 2^52")]
    let delivered_tokens = mean(judged().map(|row| row.delivered_tokens as f64));
    ArmReport {
        key: key.clone(),
        tally: tally(trials),
        templates: clusters.len(),
        success: clustered_rate(&clusters, stats::ALPHA),
        world_steps: mean(judged().map(|row| f64::from(row.world_steps))),
        world_steps_passed: mean(passed().map(|row| f64::from(row.world_steps))),
        turns: mean(judged().map(|row| f64::from(row.turns))),
        tokens,
        delivered_tokens,
        cost_usd: cost(attempts()),
        wall_s: attempts().map(|row| row.wall_s).sum(),
        working_s: attempts().map(|row| row.working_s).sum(),
        model_s: attempts().map(|row| row.model_s).sum(),
        cost_estimated: attempts().any(|row| row.cost_estimated),
        viewed_skills: u32::try_from(judged().filter(|row| !row.skills_viewed.is_empty()).count())
            .unwrap_or(u32::MAX),
        stop_reasons,
        early_ends,
    }
}

/// The cost of the priced attempts; `None` if none is priced.
fn cost<'a>(rows: impl Iterator<Item = &'a TrialRow>) -> Option<f64> {
    rows.filter_map(|row| row.cost_usd).fold(None, |sum, cost| Some(sum.unwrap_or(0.0) + cost))
}

/// The JSON spelling of a value.
fn word(value: impl serde::Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        Ok(other) => other.to_string(),
        Err(_) => String::new(),
    }
}

fn baselines(grouped: &Grouped<'_>) -> Vec<BaselineReport> {
    let of = |(key, trials): (&ArmKey, &Vec<Trial<'_>>)| BaselineReport {
        name: key.arm.clone(),
        tally: tally(trials),
        success: mean(clusters(trials).values().map(|cluster| cluster.rate)),
    };
    grouped.iter().filter(|(key, _)| key.role == Role::Baseline).map(of).collect()
}

fn templates(
    grouped: &Grouped<'_>,
    comparisons: &[ComparisonReport],
    input: &ReportInput<'_>,
) -> Vec<TemplateReport> {
    let arms: Vec<&Vec<Trial<'_>>> =
        grouped.iter().filter(|(key, _)| key.role != Role::Baseline).map(|(_, trials)| trials).collect();
    let names: BTreeSet<&str> = arms.iter().flat_map(|trials| trials.iter()).map(template_of).collect();
    let primary = comparisons.first().map(|first| &first.result.by_template);
    let line = |name: &str| {
        let of_arm = |trials: &&Vec<Trial<'_>>| {
            let own: Vec<Trial<'_>> =
                trials.iter().filter(|trial| template_of(trial) == name).cloned().collect();
            tally(&own)
        };
        let difference = primary
            .and_then(|lines| lines.iter().find(|line| line.template == name))
            .map(|line| line.difference);
        TemplateReport {
            template: name.to_owned(),
            stratum: input.strata.get(name).copied(),
            arms: arms.iter().map(of_arm).collect(),
            difference,
        }
    };
    names.into_iter().map(line).collect()
}

fn template_of<'a>(trial: &Trial<'a>) -> &'a str {
    &trial.last.template
}

fn totals(rows: &[TrialRow], trials: usize) -> Totals {
    let mut tokens = Usage::default();
    rows.iter().for_each(|row| tokens += row.tokens);
    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    Totals {
        trials: count(trials),
        attempts: count(rows.len()),
        tokens,
        cost_usd: cost(rows.iter()),
        wall_s: rows.iter().map(|row| row.wall_s).sum(),
        working_s: rows.iter().map(|row| row.working_s).sum(),
        model_s: rows.iter().map(|row| row.model_s).sum(),
    }
}

/// The models that compared answers, by name.
fn judges(rows: &[TrialRow]) -> Vec<JudgeReport> {
    let mut found: BTreeMap<&str, JudgeReport> = BTreeMap::new();
    for row in rows {
        let Some(judge) = &row.judge else { continue };
        let all = found.entry(&judge.model).or_insert_with(|| JudgeReport {
            model: judge.model.clone(),
            attempts: 0,
            decided: 0,
            questions: 0,
            tokens: Usage::default(),
            cost_usd: None,
        });
        all.attempts += 1;
        all.decided += u32::from(row.verdict != Verdict::Void);
        all.questions = all.questions.saturating_add(judge.questions);
        all.tokens += judge.tokens;
        if let Some(cost) = judge.cost_usd {
            *all.cost_usd.get_or_insert(0.0) += cost;
        }
    }
    found.into_values().collect()
}

fn versions(rows: &[TrialRow]) -> BTreeMap<String, Vec<String>> {
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for row in rows {
        let mut add = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                found.entry(name.to_owned()).or_default().insert(value);
            }
        };
        add("suite", Some(format!("{} {}", row.suite, row.suite_hash)));
        add("skillbook", row.skillbook_hash.clone());
        add("prompts", Some(row.prompt_hash.clone()));
        add("provider model", row.provider_model.clone());
        add("judge", row.judge.as_ref().map(|judge| judge.model.clone()));
        add("isolation", Some(word(row.isolation)));
        add("accepted drift", row.admit.clone());
    }
    found.into_iter().map(|(name, values)| (name, values.into_iter().collect())).collect()
}

fn lines(trials: &[Trial<'_>], measured_split: Option<Split>) -> Vec<TrialLine> {
    let line = |row: &TrialRow, counts: bool| TrialLine {
        run: row.run.clone(),
        trial: row.trial.clone(),
        attempt: row.attempt,
        counts,
        measured: measured_split.is_none() || row.split == measured_split,
        key: ArmKey::of(row),
        task: row.task.clone(),
        template: row.template.clone(),
        split: row.split,
        seed: row.seed,
        verdict: row.verdict,
        score: row.score,
        world_steps: row.world_steps,
        turns: row.turns,
        stop_reason: row.stop_reason,
        void_cause: row.void_cause,
        trace: row.trace.clone(),
    };
    let of_trial = |trial: &Trial<'_>| {
        let earlier = trial.earlier.iter().map(|row| line(row, false));
        earlier.chain([line(trial.last, true)]).collect::<Vec<_>>()
    };
    let mut lines: Vec<TrialLine> = trials.iter().flat_map(of_trial).collect();
    let place = |line: &TrialLine| {
        (!line.measured, line.key.clone(), line.template.clone(), line.task.clone(), line.seed, line.attempt)
    };
    lines.sort_by_cached_key(place);
    lines
}
