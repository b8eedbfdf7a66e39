//! The page as Markdown, for somebody who has a skill and a question, and who knows no word of ours.

use std::fmt::Write as _;

use apprentice_protocol::counted;
use apprentice_results::compare::Finding;

use super::offer::Offer;
use super::schema::{ArmLine, Conclusion, Effect, ScreeningResult, SkillPage};

/// Largest number of lines of a list.
const SHOWN: usize = 12;
/// Largest part of what the screening found, in characters.
const MAX_FOUND_CHARS: usize = 300;

/// Writes the page.
pub fn markdown(page: &SkillPage) -> String {
    let mut text = format!("# Does {} help {}?\n\n**{}**\n\n", page.skill.name, page.model, verdict(page));
    arms(page, &mut text);
    effects(page, &mut text);
    use_of_it(page, &mut text);
    changes(page, &mut text);
    circumstances(page, &mut text);
    text
}

/// One line of it, for a list of several skills.
pub fn summary_line(page: &SkillPage) -> String {
    format!("{}: {}", page.skill.name, verdict(page))
}

/// What follows, in a sentence or two.
fn verdict(page: &SkillPage) -> String {
    let by = |effect: Option<&Effect>| effect.map(amount).unwrap_or_default();
    match page.conclusion {
        Conclusion::Helps => {
            format!(
                "It helps: {} against an unrelated text of the same length.",
                by(page.against_placebo.as_ref())
            )
        }
        Conclusion::Harms => {
            let worse = |effect: &&Effect| effect.finding == Finding::Worse;
            let found = [&page.against_placebo, &page.against_none].into_iter().flatten().find(worse);
            format!("It does harm: {} against {}.", by(found), found.map_or("nothing", |one| other(one)))
        }
        Conclusion::NoDifference => match page.smallest_effect {
            Some(least) => format!(
                "No difference was shown. A measurement of this size finds differences from {} points on, four times of five.",
                whole(least)
            ),
            None => "No difference was shown.".to_owned(),
        },
        Conclusion::NoVerdict if page.evals < page.needed => format!(
            "No verdict: {} gave a result, and at least {} are needed to tell a skill from chance. The numbers below are what \
             happened, and prove nothing.",
            counted(page.evals, "evaluation"),
            page.needed
        ),
        Conclusion::NoVerdict => {
            let why = page.against_placebo.as_ref().map_or("nothing was compared", |one| &one.because);
            format!("No verdict: {why}.")
        }
    }
}

fn arms(page: &SkillPage, text: &mut String) {
    *text += "| | passed | of | success | steps | tokens | cost |\n|---|---|---|---|---|---|---|\n";
    let number = |value: Option<f64>| value.map_or("–".to_owned(), |value| format!("{value:.0}"));
    for ArmLine { words, passed, judged, success, tokens, steps, cost_usd, .. } in &page.arms {
        let success = success.map_or("–".to_owned(), |share| format!("{:.0} %", share * 100.0));
        let cost = cost_usd.map_or("no price".to_owned(), |usd| format!("${usd:.2}"));
        let _ = writeln!(
            text,
            "| {words} | {passed} | {judged} | {success} | {} | {} | {cost} |",
            number(*steps),
            number(*tokens)
        );
    }
    *text += "\nSteps and tokens are means of an attempt, cost is that of all.";
    if let Some(usd) = page.judge_usd {
        let _ = write!(text, " The judge cost ${usd:.2} more.");
    }
    let void: u32 = page.arms.iter().map(|arm| arm.void).sum();
    if void > 0 {
        let _ = write!(
            text,
            " {} of faults of the world or of a server count for nothing.",
            counted(void, "attempt")
        );
    }
    *text += "\n\n";
}

fn effects(page: &SkillPage, text: &mut String) {
    *text += "## The difference that it makes\n\n";
    for one in [&page.against_placebo, &page.against_none].into_iter().flatten() {
        line(text, "", one);
    }
    for one in &page.by_state {
        line(text, "by what files, commands and the wording of answers show, ", one);
    }
    let judge = page.judge.as_deref().unwrap_or("a model");
    for one in &page.by_judge {
        line(text, &format!("by the judgement of {judge}, which may be wrong, "), one);
    }
    *text += "\n";
}

fn line(text: &mut String, by: &str, one: &Effect) {
    let p = one.p.map(|p| format!(", p = {p:.3}")).unwrap_or_default();
    let found = match one.finding {
        Finding::Better => "better",
        Finding::Worse => "worse",
        Finding::Inconclusive => "may be chance",
        Finding::TooFew => "too few to decide",
        Finding::NoVerdict => "no verdict",
    };
    let amount = amount(one);
    let evals = counted(one.evals, "evaluation");
    let _ = writeln!(text, "- {by}against {}: {amount} ({evals}{p}): {found}", other(one));
}

fn other(one: &Effect) -> &'static str {
    match one.against.as_str() {
        "none" => "nothing",
        _ => "an unrelated text of the same length",
    }
}

/// A difference with its interval, in points.
fn amount(one: &Effect) -> String {
    match (one.difference, one.ci95) {
        (Some(difference), Some(ci)) => {
            format!("{} points, 95 % interval {} to {}", points(difference), points(ci.low), points(ci.high))
        }
        _ => "nothing to compare".to_owned(),
    }
}

fn points(share: f64) -> String {
    // Rounded first, so that zero is never shown as minus zero.
    let points = (share * 100.0).round() + 0.0;
    let sign = if points > 0.0 { "+" } else { "" };
    format!("{sign}{points:.0}").replace('-', "−")
}

fn whole(share: f64) -> String {
    format!("{:.0}", share * 100.0)
}

fn use_of_it(page: &SkillPage, text: &mut String) {
    let reading = page.reading;
    *text += "## Was it used?\n\n";
    let came = match page.offer {
        Offer::Read => "was read in",
        Offer::Prompt => "stood in the prompt of",
    };
    let _ = write!(text, "- It {came} {} of {} attempts", reading.read, reading.of);
    let unknown = reading.read - reading.followed - reading.not_followed;
    if reading.read > 0 {
        let _ = write!(
            text,
            "; of these, {} did what it says and {} did not",
            reading.followed, reading.not_followed
        );
        if unknown > 0 {
            let _ = write!(text, " ({unknown}: it names no command, key or label by which to tell)");
        }
    }
    *text += ".\n";
    if reading.of > 0 && reading.read == 0 && page.offer == Offer::Read {
        *text += "- Nobody read it, so that the numbers say nothing of its text: they show what offering it does.\n";
    }
    if reading.read < reading.of && page.offer == Offer::Prompt {
        *text += "- It is longer than what a prompt takes of it, so that its end was cut.\n";
    }
    let _ = writeln!(text, "- The unrelated text {came} {} attempts.", reading.placebo_read);
    if let Some(found) = page.triggers {
        if found.wanted > 0 {
            let _ =
                writeln!(text, "- Where it should be read, it was in {} of {}.", found.read, found.wanted);
        }
        if found.unwanted > 0 {
            let _ = writeln!(
                text,
                "- Where it should be left alone, it was in {} of {}.",
                found.left_alone, found.unwanted
            );
        }
    }
    *text += "\n";
}

fn changes(page: &SkillPage, text: &mut String) {
    *text += "## Gains and losses\n\n";
    let list = |names: &[String]| match names.is_empty() {
        true => "none".to_owned(),
        false => clipped(names),
    };
    let _ = writeln!(text, "- Passed with it and failed without: {}", list(&page.won));
    let _ = writeln!(text, "- Failed with it and passed without: {}", list(&page.lost));
    for cell in page.harm.iter().filter(|cell| cell.lost > 0) {
        let alarm = if cell.alarm { ": this is more than chance, and it may do harm there" } else { "" };
        let _ = writeln!(
            text,
            "- With {}: {} lost and {} won while it was read{alarm}",
            cell.program, cell.lost, cell.gained
        );
    }
    *text += "\n";
}

fn circumstances(page: &SkillPage, text: &mut String) {
    *text += "## What was measured\n\n";
    let skill = &page.skill;
    let screening = match &skill.screening {
        ScreeningResult::Passed => "nothing found".to_owned(),
        ScreeningResult::Effects { found } => {
            let found: String = found.chars().take(MAX_FOUND_CHARS).collect();
            let found = found.strip_prefix("effects: ").unwrap_or(&found);
            format!("it has effects, read it before you use it: {found}")
        }
        ScreeningResult::AsWritten => "as its book was written".to_owned(),
    };
    let programs: Vec<String> = page
        .programs
        .iter()
        .map(|(name, versions)| format!("{name} {}", versions.iter().cloned().collect::<Vec<_>>().join(", ")))
        .collect();
    let facts = [
        ("Tasks", skill.tasks.clone()),
        ("Model", page.model.clone()),
        ("Offered", format!("the model got {}", page.offer.words())),
        ("Judge", page.judge.clone().unwrap_or_else(|| "none was needed".to_owned())),
        ("Date", page.date.clone().unwrap_or_default()),
        ("Programs", programs.join("; ")),
        ("Screening", screening),
        ("Digest of the package", skill.package.clone().unwrap_or_else(|| "none: a skillbook".to_owned())),
        ("Digest of what was lent", page.book_hash.clone()),
    ];
    for (name, value) in facts.iter().filter(|(_, value)| !value.is_empty()) {
        let _ = writeln!(text, "- {name}: {value}");
    }
    for (id, why) in skill.left_out.iter().take(SHOWN) {
        let _ = writeln!(text, "- Left out, evaluation {id}: {why}");
    }
    let more = skill.left_out.len().saturating_sub(SHOWN);
    if more > 0 {
        let _ = writeln!(text, "- Left out, too: {more} more");
    }
    for remark in skill.remarks.iter().chain(&page.notes).take(SHOWN) {
        let _ = writeln!(text, "- Note: {remark}");
    }
}

fn clipped(names: &[String]) -> String {
    let shown = names.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
