//! `apprentice ps` and `apprentice watch`: what this user's processes run.

use std::collections::BTreeMap;

use apprentice_control::{ControlPlace, Mode, Peer, Phase, ProcessStatus, TrialStatus};
use apprentice_protocol::counted;
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;

use crate::failure::{Failure, Kind, WithKind as _};
use crate::settings::config::Config;
use crate::{runs::control_socket, terminal, wire};

/// The most characters of words and acts in a line.
const BRIEF: usize = 100;

/// Lists the trials that run now, in all processes of this user.
#[derive(Debug, Args)]
pub(crate) struct Ps {
    /// Print one JSON object (`apprentice.ps/1`).
    #[arg(long)]
    json: bool,
}

/// Shows a running trial, or all of a process, line by line until it ends.
///
/// `apprentice view` shows the same in a browser, with the screen, and lets you take over.
#[derive(Debug, Args)]
pub(crate) struct Watch {
    /// The trial, or the beginning of its id, or its task [default: all of the only process].
    trial: Option<String>,
    /// Print one JSON object per change (`apprentice.ps/1`), each on a line of its own.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Listed<'a> {
    schema: &'static str,
    processes: &'a [ProcessStatus],
}

/// A process that answers, and the trial in it that was named.
pub(super) struct Found<'a> {
    pub(super) peer: Peer<'a>,
    pub(super) status: ProcessStatus,
    pub(super) trial: Option<String>,
}

/// Runs `ps`.
pub(crate) fn ps(arguments: &Ps, config: &Config) -> Result<(), Failure> {
    let places = control_socket::places(config)?;
    let processes = wire::runtime()?.block_on(async { statuses(&places).await })?;
    if arguments.json {
        return terminal::json(&Listed { schema: "apprentice.ps/1", processes: &processes });
    }
    if processes.is_empty() {
        terminal::note(format_args!("nothing runs"));
    }
    for process in &processes {
        terminal::line(format_args!("{}", process_line(process)));
        for trial in &process.trials {
            terminal::line(format_args!("  {}", trial_line(trial)));
        }
    }
    Ok(())
}

/// Runs `watch`.
pub(crate) fn watch(arguments: &Watch, config: &Config) -> Result<(), Failure> {
    let places = control_socket::places(config)?;
    wire::runtime()?.block_on(async {
        let found = find(&places, arguments.trial.as_deref()).await?;
        let mut watching = found.peer.watch().await.kind(Kind::Environment)?;
        let mut shown = Shown::default();
        while let Some(status) = watching.next().await.kind(Kind::Environment)? {
            if let Some(trial) = &found.trial
                && !status.trials.iter().any(|one| one.trial == *trial)
            {
                terminal::note(format_args!("the trial has ended"));
                return Ok(());
            }
            if arguments.json {
                terminal::json_line(&Listed { schema: "apprentice.ps/1", processes: &[status] })?;
            } else {
                shown.show(&status, found.trial.as_deref());
            }
        }
        terminal::note(format_args!("the process has ended"));
        Ok(())
    })
}

/// What was printed last of each trial, so that a change of time alone prints nothing.
#[derive(Default)]
struct Shown {
    trials: BTreeMap<String, String>,
    said: BTreeMap<String, String>,
    process: String,
}

impl Shown {
    fn show(&mut self, status: &ProcessStatus, only: Option<&str>) {
        let process = process_line(status);
        if only.is_none() && self.process != process {
            terminal::line(format_args!("{process}"));
            self.process = process;
        }
        for trial in status.trials.iter().filter(|trial| only.is_none_or(|only| trial.trial == only)) {
            let line = trial_line(trial);
            if self.trials.get(&trial.trial) != Some(&line) {
                terminal::line(format_args!("{line}"));
                self.trials.insert(trial.trial.clone(), line);
            }
            if let Some(say) = &trial.say
                && self.said.get(&trial.trial) != Some(say)
            {
                terminal::line(format_args!("  says: {}", brief(say)));
                self.said.insert(trial.trial.clone(), say.clone());
            }
        }
    }
}

/// Asks all processes what they run.
pub(super) async fn statuses(places: &[ControlPlace]) -> Result<Vec<ProcessStatus>, Failure> {
    let mut found = Vec::new();
    for place in places {
        found.extend(Peer::all(place).await.kind(Kind::Environment)?);
    }
    Ok(found)
}

/// Finds the process of a trial, or the only process.
pub(super) async fn find<'a>(places: &'a [ControlPlace], trial: Option<&str>) -> Result<Found<'a>, Failure> {
    let mut matching: Vec<Found<'a>> = Vec::new();
    let mut running = Vec::new();
    for place in places {
        for status in Peer::all(place).await.kind(Kind::Environment)? {
            running.extend(status.trials.iter().map(|one| format!("{} ({})", one.trial, one.task)));
            let peer = || Peer::new(place, status.process);
            match trial {
                None => matching.push(Found { peer: peer(), status: status.clone(), trial: None }),
                Some(name) => {
                    matching.extend(status.trials.iter().filter(|one| names(one, name)).map(|one| Found {
                        peer: peer(),
                        status: status.clone(),
                        trial: Some(one.trial.clone()),
                    }));
                }
            }
        }
    }
    let list = if running.is_empty() {
        "nothing runs".to_owned()
    } else {
        format!("running: {}", running.join(", "))
    };
    match (matching.pop(), matching.is_empty(), trial) {
        (Some(one), true, _) => Ok(one),
        (Some(_), false, None) => {
            Err(Failure::say(Kind::Usage, "several processes run").hint(format!("name a trial; {list}")))
        }
        (Some(_), false, Some(name)) => {
            Err(Failure::say(Kind::Usage, format!("several trials are named {name:?}")).hint(list))
        }
        (None, _, None) => Err(Failure::say(Kind::NothingMatched, "nothing runs")
            .hint("start `apprentice run` or `apprentice do` in another terminal")),
        (None, _, Some(name)) => {
            Err(Failure::say(Kind::NothingMatched, format!("no trial {name:?} runs")).hint(list))
        }
    }
}

fn names(trial: &TrialStatus, name: &str) -> bool {
    trial.task == name || (!name.is_empty() && trial.trial.starts_with(name))
}

fn process_line(status: &ProcessStatus) -> String {
    let done = status.passed + status.failed;
    let paused = if status.paused { ", paused" } else { "" };
    let folder = status.folder.as_deref().unwrap_or("planning");
    format!(
        "{} (process {}): {done} of {} done, {} passed, {} failed, {} void{}{paused}; {folder}",
        status.command,
        status.process,
        counted(status.planned, "trial"),
        status.passed,
        status.failed,
        status.void,
        money(status.cost_usd),
    )
}

/// A running trial in one line.
pub(super) fn trial_line(trial: &TrialStatus) -> String {
    let mut line = format!(
        "{} {} {}: step {} of {}, {}",
        trial.trial,
        trial.task,
        trial.model,
        trial.world_steps,
        trial.limits.world_steps,
        state(trial)
    );
    if let Some(act) = &trial.last_act {
        line = line + ", " + brief(act).as_str();
    }
    line + format!(", {} tokens{}", trial.tokens, money(trial.cost_usd)).as_str()
}

/// What a trial is doing, in words.
pub(crate) fn state(trial: &TrialStatus) -> String {
    if let Some(held) = &trial.held {
        return format!("{} has taken over", held.by);
    }
    let phase = match trial.phase {
        Phase::SettingUp => "setting up",
        Phase::WaitingForModel => "waiting for the model",
        Phase::Acting => "acting",
        Phase::WaitingForPerson => return "paused".to_owned(),
        Phase::Judging => "being judged",
    };
    match trial.mode {
        Mode::Paused => format!("{phase}, then paused"),
        Mode::Running | Mode::OneStep => phase.to_owned(),
    }
}

fn money(cost: Option<f64>) -> String {
    cost.map(|cost| format!(", ${cost:.4}")).unwrap_or_default()
}

fn brief(text: &str) -> String {
    let one_line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match one_line.char_indices().nth(BRIEF) {
        Some((end, _)) => format!("{}…", &one_line[..end]),
        None => one_line,
    }
}
