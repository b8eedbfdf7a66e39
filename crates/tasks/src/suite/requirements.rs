//! Task requirements: lists what is missing to grade a task, to run it in a cell on this machine, or to run it in a
//! virtual machine of OSWorld's image.

use std::collections::BTreeSet;

use apprentice_protocol::{AllowedHost, did_you_mean};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::check::{self, GETTERS, ReadingKind, UNSUPPORTED_GETTERS};
use crate::setup::{
    EMPTY_HISTORY, KNOWN_STEPS, STEPS, is_stood_in_for, programs_of_step, unknown_parameters,
};
use crate::task::{OneOrMany, SetupStep, Task, TaskExtension};
use crate::world_io::Mirror;
use apprentice_metrics::kind_to_read;

/// The capabilities of this machine.
pub struct HostCapabilities<'a> {
    /// Whether a program is installed.
    pub has_program: &'a dyn Fn(&str) -> bool,
    /// The source of downloaded files; `None` without a mirror.
    pub mirror: Option<&'a Mirror>,
    /// Whether a cell of a task that names these in `network` may reach a host, or the host of such an entry.
    pub may_reach: &'a dyn Fn(&[AllowedHost], &str) -> bool,
    /// Whether a model is named that compares answers.
    pub has_judge: bool,
}

/// The reasons a task cannot be graded or run. An empty list means no obstacle.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MissingRequirements {
    /// Unknown names in the task file: errors of the file.
    pub unknown: Vec<String>,
    /// Obstacles to grading the task.
    pub grades: Vec<String>,
    /// Obstacles to running it in a cell on this machine.
    pub cell: Vec<String>,
    /// Obstacles to running it in a virtual machine.
    pub vm: Vec<String>,
    /// Missing programs of those reasons, by the names under which they were looked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<String>,
}

/// Program names used by tasks, each with the executables that provide it here.
const PROGRAMS: &[(&str, &[&str])] = &[
    ("google-chrome", &["google-chrome", "chromium"]),
    ("chrome", &["google-chrome", "chromium"]),
    ("chromium", &["chromium", "google-chrome"]),
    ("libreoffice", &["libreoffice", "soffice"]),
    ("soffice", &["libreoffice", "soffice"]),
    ("libreoffice_calc", &["localc"]),
    ("libreoffice_writer", &["lowriter"]),
    ("libreoffice_impress", &["loimpress"]),
    ("calc", &["localc"]),
    ("writer", &["lowriter"]),
    ("impress", &["loimpress"]),
    ("gimp", &["gimp"]),
    ("vlc", &["vlc"]),
    ("thunderbird", &["thunderbird"]),
    ("code", &["code"]),
    ("vscode", &["code"]),
    ("vs_code", &["code"]),
    ("nautilus", &["nautilus"]),
    ("gnome-terminal", &["gnome-terminal"]),
    ("terminal", &["xfce4-terminal", "gnome-terminal"]),
    ("gnome-control-center", &["gnome-control-center"]),
    ("eog", &["eog"]),
    ("evince", &["evince"]),
    ("document viewer", &["evince", "atril", "chromium"]),
    ("gedit", &["gedit"]),
];

/// Returns the executables that provide a program here.
pub(super) fn executables(name: &str) -> Vec<&str> {
    let existing = PROGRAMS.iter().find(|(existing, _)| *existing == name);
    existing.map_or_else(|| vec![name], |(_, options)| options.to_vec())
}

/// The program that opens a file, by file extension.
const OPENERS: &[(&str, &str)] = &[
    ("xlsx", "calc"),
    ("ods", "calc"),
    ("csv", "calc"),
    ("docx", "writer"),
    ("odt", "writer"),
    ("pptx", "impress"),
    ("odp", "impress"),
    ("xcf", "gimp"),
    ("pdf", "document viewer"),
];

/// Windows that tasks activate at their start, with the program that owns them.
const WINDOWS: &[(&str, &str)] =
    &[("Google Chrome", "google-chrome"), ("Terminal", "terminal"), ("Visual Studio Code", "code")];

/// Substrings of commands that use the network or change the system.
const NETWORK_COMMANDS: &[&str] =
    &["apt-get install", "apt install", "pip install", "snap install", "curl ", "wget "];

/// Those of them that need it only for an address elsewhere.
const FETCHERS: &[&str] = &["curl ", "wget "];

/// The way to name a model that judges.
const JUDGE_REMEDY: &str = "name one with --judge MODEL or in role.judge";

/// Returns the unmet requirements of a task.
pub fn missing(task: &Task, here: &HostCapabilities<'_>) -> MissingRequirements {
    let mut all = RequirementCollector::default();
    let named = task.apprentice.as_ref().map_or(&[][..], |ours| ours.network.as_slice());
    all.named_hosts(named, here);
    all.steps(task.config.iter(), task.apprentice.as_ref(), here);
    all.steps(task.evaluator.postconfig.iter(), task.apprentice.as_ref(), here);
    all.instruction(&task.instruction, named, here);
    all.programs(task, here);
    all.metrics(task, here);
    all.getters(task, here);
    MissingRequirements {
        unknown: all.unknown.list,
        grades: all.grades.list,
        cell: all.cell.list,
        vm: all.vm.list,
        programs: all.programs.list,
    }
}

/// Distinct reasons in insertion order.
#[derive(Default)]
struct Reasons {
    list: Vec<String>,
}

impl Reasons {
    fn add(&mut self, reason: impl Into<String>) {
        let reason = reason.into();
        if !self.list.contains(&reason) {
            self.list.push(reason);
        }
    }
}

#[derive(Default)]
struct RequirementCollector {
    unknown: Reasons,
    grades: Reasons,
    cell: Reasons,
    vm: Reasons,
    programs: Reasons,
}

impl RequirementCollector {
    fn run(&mut self, reason: &str) {
        self.cell.add(reason);
        self.vm.add(reason);
    }

    fn unknown(&mut self, kind: &str, name: &str, known: impl Iterator<Item = &'static str>) {
        let hint = did_you_mean(name, known);
        self.unknown.add(format!("unknown {kind} {name:?}{hint}"));
    }

    fn steps<'t>(
        &mut self,
        steps: impl Iterator<Item = &'t SetupStep>,
        ours: Option<&TaskExtension>,
        here: &HostCapabilities<'_>,
    ) {
        let named = ours.map_or(&[][..], |ours| ours.network.as_slice());
        let is_own = ours.is_some();
        for step in steps {
            let name = step.kind.as_str();
            if let Some((_, why)) = KNOWN_STEPS.iter().find(|(known, _)| *known == name) {
                self.run(&format!("setup step {name:?}: {why}"));
            } else if !STEPS.contains(&name) {
                let known = STEPS.iter().copied().chain(KNOWN_STEPS.iter().map(|(known, _)| *known));
                self.unknown("setup step", name, known);
            }
            for fault in unknown_parameters(step, is_own) {
                self.unknown.add(fault);
            }
            for file in step.parameters.get("files").and_then(Value::as_array).into_iter().flatten() {
                if let Some(url) = file.get("url").and_then(Value::as_str).filter(|_| name == "download") {
                    self.file(url, here);
                }
            }
            if name == "update_browse_history" {
                self.file(EMPTY_HISTORY, here);
            }
            let tabs = step.parameters.get("urls_to_open").and_then(Value::as_array).into_iter().flatten();
            for tab in tabs.filter_map(Value::as_str).filter(|tab| is_live(tab)) {
                self.opens(host(tab), named, here);
            }
            let command = command_text(step);
            // What asks the world itself needs no network.
            let asks_itself = command.find("http").is_some_and(|at| !is_live(&command[at..]));
            let of_network =
                |word: &&&str| command.contains(**word) && !(asks_itself && FETCHERS.contains(*word));
            if let Some(word) = NETWORK_COMMANDS.iter().find(of_network) {
                self.live(&format!("its setup runs {:?}", word.trim()));
            }
            if let Some(at) = command.find("http").filter(|at| is_live(&command[*at..])) {
                self.opens(host(&command[at..]), named, here);
            }
        }
    }

    fn live(&mut self, why: &str) {
        self.run(&format!("network: {why}"));
    }

    /// Records a host that the setup opens. Whether a machine reaches it is not known here.
    fn opens(&mut self, host: &str, named: &[AllowedHost], here: &HostCapabilities<'_>) {
        self.vm.add(format!("network: it opens {host}"));
        if !(here.may_reach)(named, host) {
            self.cell
                .add(format!("network: it opens {host}, which `network` does not allow{}", remedy(host)));
        }
    }

    /// Records a host that the instruction names with `http://`, `https://` or `www.`.
    fn instruction(&mut self, text: &str, named: &[AllowedHost], here: &HostCapabilities<'_>) {
        let marks = |c: char| matches!(c, '(' | ')' | '<' | '>' | '[' | ']' | '"' | '\'' | ',' | ';' | '`');
        for word in text.split(|c: char| c.is_whitespace() || marks(c)) {
            let is_page = ["http://", "https://", "www."].iter().any(|start| word.starts_with(start));
            let host = host(word).trim_end_matches(['.', ':', '?', '!']);
            if is_page && is_live(word) && host.contains('.') && !(here.may_reach)(named, host) {
                let why = format!("network: the instruction names {host}, which `network` does not allow");
                self.cell.add(why + &remedy(host));
            }
        }
    }

    /// Records the hosts that the task itself says it needs.
    fn named_hosts(&mut self, named: &[AllowedHost], here: &HostCapabilities<'_>) {
        for host in named {
            let text = host.to_string();
            if !(here.may_reach)(named, &text) {
                self.cell.add(format!("network: the task needs {text}; allow it with --network task"));
            }
        }
    }

    /// Records a file that the setup or the grading downloads.
    fn file(&mut self, url: &str, here: &HostCapabilities<'_>) {
        let Some(mirror) = here.mirror else {
            return self.run("files: the task downloads files, and no mirror is set (--mirror)");
        };
        if !mirror.may_have(url) {
            self.run(&format!("files: {} is not in the mirror", url.rsplit('/').next().unwrap_or(url)));
        }
    }

    fn programs(&mut self, task: &Task, here: &HostCapabilities<'_>) {
        let mut wanted: BTreeSet<&str> = task
            .apprentice
            .as_ref()
            .into_iter()
            .flat_map(|ours| ours.programs.iter().map(String::as_str))
            .collect();
        let related = task.extra.get("related_apps").and_then(Value::as_array);
        wanted.extend(related.into_iter().flatten().filter_map(Value::as_str));
        let commands: Vec<String> =
            task.config.iter().filter(|step| step.kind == "launch").map(command_text).collect();
        let known = |word: &&str| PROGRAMS.iter().any(|(name, _)| name == word);
        for command in &commands {
            let words = command.split_whitespace().map(|word| word.rsplit('/').next().unwrap_or(word));
            wanted.extend(words.filter(known).take(1));
        }
        for step in task.config.iter().filter(|step| step.kind == "open") {
            let path = step.parameters.get("path").and_then(Value::as_str).unwrap_or_default();
            let ending = path.rsplit('.').next().unwrap_or_default();
            wanted.extend(OPENERS.iter().filter(|(known, _)| *known == ending).map(|(_, program)| *program));
        }
        for step in task.config.iter().filter(|step| step.kind == "activate_window") {
            let window = step.parameters.get("window_name").and_then(Value::as_str);
            wanted.extend(
                WINDOWS.iter().filter(|(known, _)| window == Some(*known)).map(|(_, program)| *program),
            );
        }
        // A path is made by the setup, or its shell says that it is not there.
        let steps = || task.config.iter().chain(&task.evaluator.postconfig);
        let own = task.apprentice.is_some();
        let started: Vec<String> =
            steps().flat_map(programs_of_step).filter(|name| !name.contains('{')).collect();
        wanted.extend(started.iter().map(String::as_str));
        for name in wanted {
            let options = PROGRAMS.iter().find(|(known, _)| *known == name).map(|(_, options)| *options);
            let has = match options {
                Some(options) => options.iter().any(|option| (here.has_program)(option)),
                // Lists of related apps in third-party tasks also contain names that are not programs.
                None => {
                    let named_alone = !own && !started.iter().any(|one| one == name);
                    named_alone || is_stood_in_for(name) || (here.has_program)(name)
                }
            };
            if !has {
                self.cell.add(format!("program {name:?} is not installed"));
                self.programs.add(options.and_then(|options| options.first()).copied().unwrap_or(name));
            }
        }
    }

    fn metrics(&mut self, task: &Task, here: &HostCapabilities<'_>) {
        for (at, name) in task.evaluator.func.iter().enumerate() {
            match check::named(name) {
                Some(metric) if !metric.is_implemented() => {
                    self.grades.add(format!("metric {name:?} is not built yet"));
                }
                Some(metric) if takes_none(metric, task, at) => {
                    self.grades.add(format!("metric {name:?} takes no options"));
                }
                Some(metric)
                    if metric.reads_answer()
                        && !here.has_judge
                        && compared_by_meaning(task, at).is_some() =>
                {
                    self.grades.add(format!(
                        "metric {name:?}: \"fuzzy_match\" needs a model as judge ({JUDGE_REMEDY})"
                    ));
                }
                Some(metric) => self.readings(metric, task.evaluator.options(at), here),
                None => self.unknown("metric", name, check::METRICS.iter().map(|metric| metric.name)),
            }
        }
    }

    /// Records programs of this machine that a metric has its files read by.
    fn readings(
        &mut self,
        metric: &check::Metric,
        options: Option<&serde_json::Map<String, Value>>,
        here: &HostCapabilities<'_>,
    ) {
        for (program, package) in kind_to_read(metric, options).map_or(&[][..], ReadingKind::programs) {
            if !(here.has_program)(program) {
                let name = metric.name;
                self.programs.add(*program);
                self.grades.add(format!(
                    "metric {name:?} needs the program {program:?} on this machine (package {package})"
                ));
            }
        }
    }

    fn getters(&mut self, task: &Task, here: &HostCapabilities<'_>) {
        let both = [&task.evaluator.result, &task.evaluator.expected];
        for spec in both.into_iter().flatten().flat_map(OneOrMany::iter) {
            let Some(name) = spec.get("type").and_then(Value::as_str) else { continue };
            if let Some((_, why)) = UNSUPPORTED_GETTERS.iter().find(|(known, _)| *known == name) {
                self.grades.add(format!("getter {name:?}: {why}"));
            } else if !GETTERS.contains(&name) {
                let known =
                    GETTERS.iter().copied().chain(UNSUPPORTED_GETTERS.iter().map(|(known, _)| *known));
                self.unknown("getter", name, known);
            }
            if check::is_judged_by_pictures(spec) {
                let what =
                    "a model has to judge one of its checks by pictures of the screen, which is not done";
                self.grades.add(format!("getter {name:?}: {what}"));
            } else if check::is_judged_by_model(spec) && !here.has_judge {
                let what = "one of its checks needs a model as judge";
                self.grades.add(format!("getter {name:?}: {what} ({JUDGE_REMEDY})"));
            }
            if name == "cloud_file" {
                let path = spec.get("path");
                let many = path.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
                for url in
                    path.and_then(Value::as_str).into_iter().chain(many.iter().filter_map(Value::as_str))
                {
                    self.file(url, here);
                }
            }
        }
    }
}

/// Returns whether a model may have to compare the answer of an attempt at this task.
pub fn needs_judge(task: &Task) -> bool {
    most_questions(task) > 0
}

/// Returns the largest number of questions that a model may have to answer about an attempt at this task: references with which the
/// answer is compared, and checks that a model judges.
pub fn most_questions(task: &Task) -> u32 {
    let names = task.evaluator.func.iter().enumerate();
    let read = names.filter(|(_, name)| check::named(name).is_some_and(check::Metric::reads_answer));
    let of = |references: &Value| references.as_array().map_or(1, |list| list.len().max(1));
    let compared: usize = read.filter_map(|(at, _)| compared_by_meaning(task, at)).map(of).sum();
    let results = task.evaluator.result.iter().flat_map(OneOrMany::iter);
    let is_asked = |spec: &&Value| check::is_judged_by_model(spec) && !check::is_judged_by_pictures(spec);
    let all = compared + results.filter(is_asked).count();
    u32::try_from(all).unwrap_or(u32::MAX)
}

/// The references of which only a model can say whether an answer means them, or the statements of which only a model can say
/// whether they hold.
fn compared_by_meaning(task: &Task, at: usize) -> Option<&Value> {
    if let Some(statements) = task.evaluator.options(at).and_then(|options| options.get("statements")) {
        return Some(statements);
    }
    let rules = task.evaluator.expected.iter().flat_map(OneOrMany::iter).nth(at)?;
    rules.pointer("/rules/reference_answers/fuzzy_match")
}

/// Returns whether a metric that takes no options is given some. Upstream raises an error for this.
fn takes_none(metric: &check::Metric, task: &Task, at: usize) -> bool {
    metric.options().is_none() && task.evaluator.options(at).is_some_and(|given| !given.is_empty())
}

fn command_text(step: &SetupStep) -> String {
    match step.parameters.get("command") {
        Some(Value::String(line)) => line.clone(),
        Some(Value::Array(words)) => words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" "),
        _ => String::new(),
    }
}

/// Returns whether an address points outside the machine.
fn is_live(address: &str) -> bool {
    let rest = address.strip_prefix("https://").or_else(|| address.strip_prefix("http://"));
    let plain = !["chrome:", "file:", "about:", "localhost", "127.0.0.1"]
        .iter()
        .any(|start| address.starts_with(start));
    rest.map_or(plain && !address.starts_with("http") && address.contains('.'), |rest| {
        !rest.starts_with("localhost") && !rest.starts_with("127.0.0.1")
    })
}

/// Says how a host is allowed.
fn remedy(host: &str) -> String {
    format!(" (--network {host})")
}

fn host(address: &str) -> &str {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    rest.split(|c: char| c == '/' || c.is_whitespace() || c == '"').next().unwrap_or(rest)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{HostCapabilities, missing};
    use apprentice_protocol::AllowedHost;

    use crate::suite::load::read_task;
    use crate::world_io::Mirror;

    #[test]
    fn reasons_are_named_once_and_by_column() {
        let text = r#"{"id":"x","instruction":"i","related_apps":["libreoffice_calc"],"config":[
            {"type":"download","parameters":{"files":[{"url":"https://h.org/a.xlsx","path":"/a.xlsx"}]}},
            {"type":"open","parameters":{"path":"/a.xlsx"}},
            {"type":"activate_window","parameters":{"window_name":"Terminal"}},{"type":"login","parameters":{}},
            {"type":"chrome_open_tabs","parameters":{"urls_to_open":["https://site.org/x","chrome://settings"]}},
            {"type":"lauch","parameters":{}}],
            "evaluator":{"func":["compare_table","compare_videos","check_file_exists","compare_tabel"],
            "result":[{"type":"vm_file"},{"type":"googledrive_file"},{"type":"vm_fil"},{"type":"vm_file"}]}}"#;
        let task = read_task(Path::new("x.json"), text).expect("loads");
        let none = |_: &[AllowedHost], _: &str| false;
        let here =
            HostCapabilities { has_program: &|_| false, mirror: None, may_reach: &none, has_judge: false };
        let found = missing(&task, &here);
        assert_eq!(
            found.unknown,
            [
                "unknown setup step \"lauch\"; did you mean \"launch\"?",
                "unknown metric \"compare_tabel\"; did you mean \"compare_table\"?",
                "unknown getter \"vm_fil\"; did you mean \"vm_file\"?",
            ]
        );
        assert_eq!(
            found.grades,
            [
                "metric \"compare_videos\" needs the program \"ffmpeg\" on this machine (package ffmpeg)",
                "metric \"check_file_exists\" is not built yet",
                "getter \"googledrive_file\": it needs a Google account",
            ]
        );
        assert_eq!(
            found.vm,
            [
                "files: the task downloads files, and no mirror is set (--mirror)",
                "setup step \"login\": it needs a Google account",
                "network: it opens site.org",
            ]
        );
        let programs =
            ["calc", "libreoffice_calc", "terminal"].map(|name| format!("program {name:?} is not installed"));
        assert_eq!(found.cell[..2], found.vm[..2]);
        assert_eq!(
            found.cell[2],
            "network: it opens site.org, which `network` does not allow (--network site.org)"
        );
        assert_eq!(found.cell[3..], programs);
        let mirror = Mirror::Origin;
        let here = HostCapabilities {
            has_program: &|_| true,
            mirror: Some(&mirror),
            may_reach: &none,
            has_judge: false,
        };
        let found = missing(&task, &here);
        assert_eq!(found.cell.len(), 2, "{:?}", found.cell);
    }

    #[test]
    fn hosts_are_named_that_the_network_does_not_allow() {
        let text = r#"{"id":"x","instruction":"Compare https://a.example/x and (www.b.example). See notes.txt and http://localhost/.",
            "config":[{"type":"launch","parameters":{"command":["google-chrome","https://c.example"]}}],
            "evaluator":{"func":"infeasible"},"apprentice":{"environment":"desktop","template":"t","network":["d.example"]}}"#;
        let task = read_task(Path::new("x.json"), text).expect("loads");
        let network = |policy: &'static [&str]| {
            let may_reach = move |named: &[AllowedHost], host: &str| {
                policy.contains(&host)
                    || (policy == ["task"] && named.iter().any(|one| one.allows(host, 443)))
            };
            let here = HostCapabilities {
                has_program: &|_| true,
                mirror: None,
                may_reach: &may_reach,
                has_judge: false,
            };
            missing(&task, &here).cell
        };
        assert_eq!(
            network(&[]),
            [
                "network: the task needs d.example; allow it with --network task",
                "network: it opens c.example, which `network` does not allow (--network c.example)",
                "network: the instruction names a.example, which `network` does not allow (--network a.example)",
                "network: the instruction names www.b.example, which `network` does not allow (--network www.b.example)",
            ]
        );
        assert_eq!(network(&["a.example", "www.b.example", "c.example", "d.example"]), Vec::<String>::new());
        assert_eq!(network(&["task"]).len(), 3);
    }
}
