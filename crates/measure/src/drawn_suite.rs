//! A package's evaluations as a suite of its own, in the form that every other command reads. The folder with skills that bear on
//! none of them, from which the placebo takes its texts, lies beside it.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use apprentice_protocol::SkillId;
use apprentice_skillbook::package::Package;
use apprentice_skillbook::package::evals::{EVALS_FOLDER, EvalCheck, SkillEval};
use apprentice_tasks::suite::load::SUITE_FILE;
use serde_json::{Value, json};

use super::eval_world::{EvalWorld, WORK, instruction, page_holds};

/// Written after the files of an evaluation: what is newer, the agent made or changed.
const BEGUN: &str = "/home/user/.work-begun";
/// Where the scripts of a package lie while they grade. Nothing of it is there during the attempt.
const GRADING: &str = "/home/user/.grading";
/// The folder of the files of evaluations in the suite.
const FILES: &str = "files";
/// True skills that bear on no evaluation of computer work. They are worth nothing there, and read like any other.
const INERT: [(&str, &str); 4] = [
    ("press-a-flower", include_str!("inert/press-a-flower.md")),
    ("season-a-pan", include_str!("inert/season-a-pan.md")),
    ("sharpen-a-scythe", include_str!("inert/sharpen-a-scythe.md")),
    ("tie-a-bowline", include_str!("inert/tie-a-bowline.md")),
];

/// Largest number of world actions of an attempt, unless the command says otherwise.
pub const WORLD_STEPS: u32 = 40;
/// The longest that an attempt may take, in seconds, without the model's own time.
const WORKING_S: u64 = 900;
/// A placeholder for two opening braces, which would begin one.
const BRACES: &str = "{{open}}";
/// The numbers of the placeholder that makes one repetition another variation. No text holds it.
const REPETITIONS: [u32; 2] = [1, 1_000_000];

/// Lists the files below the folder, each with its size and the beginning of its text, within the limits of a judge.
const LISTING: &str = r#"cd /home/user/work 2>/dev/null || exit 0
find . -type f -not -path '*/.git/*' | LC_ALL=C sort | head -n 40 | while IFS= read -r file; do
  size=$(wc -c < "$file")
  if [ -e /home/user/.work-begun ] && [ -z "$(find "$file" -newer /home/user/.work-begun)" ]; then
    printf '== %s (%s bytes) (as given)\n' "${file#./}" "$size"; continue
  fi
  printf '== %s (%s bytes)\n' "${file#./}" "$size"
  if LC_ALL=C grep -qI . "$file"; then head -c 3000 "$file"; echo; else echo '(no text)'; fi
done | head -c 14000"#;

/// Runs a script of the package in a clean environment: what the agent left in its home decides nothing. `$0` is the script's path
/// and the arguments follow. What it says goes to the error output, and its exit code is the result.
const SCRIPT: &str = r#"cd /home/user/work || exit 0
case "$0" in
  *.py) set -- python3 -sE "$0" "$@" ;;
  *.js|*.mjs) set -- node "$0" "$@" ;;
  *) set -- bash --noprofile --norc "$0" "$@" ;;
esac
env -i PATH=/usr/local/bin:/usr/bin:/bin HOME=/nonexistent LC_ALL=C.UTF-8 WORK=/home/user/work "$@" 1>&2 </dev/null
echo $?"#;

/// A file or folder that could not be written.
#[derive(Debug, thiserror::Error)]
#[error("{}", path.display())]
pub struct DrawError {
    /// The file or folder.
    pub path: PathBuf,
    /// The cause.
    #[source]
    pub source: io::Error,
}

/// What a suite is drawn from.
pub struct Drawing<'a> {
    /// The package.
    pub package: &'a Package,
    /// The skill that it became.
    pub skill: &'a SkillId,
    /// The evaluations that take part.
    pub evals: &'a [SkillEval],
}

impl Drawing<'_> {
    /// Writes the suite into a folder.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn write(&self, folder: &Path) -> Result<(), DrawError> {
        let mut ids: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for eval in self.evals {
            let id = task_id(eval);
            for (path, place) in self.copied(eval) {
                write(&folder.join(place), self.package.files.get(&path).map_or(&[][..], Vec::as_slice))?;
            }
            let task = format!("{:#}\n", self.task(eval, &id));
            let domain = EvalWorld::of(&eval.environment).domain;
            write(&folder.join("examples").join(&domain).join(format!("{id}.json")), task.as_bytes())?;
            ids.entry(domain).or_default().push(id);
        }
        write_inert(folder)?;
        // It comes last: with it the suite is whole.
        write(&folder.join(SUITE_FILE), format!("{:#}\n", json!(ids)).as_bytes())
    }

    /// The files of the package that an evaluation needs in the suite, with their places there.
    fn copied(&self, eval: &SkillEval) -> Vec<(String, String)> {
        let given = eval.files.iter().map(|file| file.path.clone());
        let beside = eval.checks.iter().any(|check| matches!(check, EvalCheck::Script { .. }));
        let scripts = self.package.files.keys().filter(|path| beside && path.starts_with(EVALS_FOLDER));
        let named = eval.checks.iter().filter_map(|check| match check {
            EvalCheck::Script { path, .. } => Some(path.clone()),
            _ => None,
        });
        given
            .chain(scripts.cloned())
            .chain(named)
            .map(|path| (path.clone(), format!("{FILES}/{path}")))
            .collect()
    }

    fn task(&self, eval: &SkillEval, id: &str) -> Value {
        let upload = |path: &str, to: String| json!({"local_path": format!("{FILES}/{path}"), "path": to});
        let files: Vec<Value> =
            eval.files.iter().map(|file| upload(&file.path, format!("{WORK}/{}", file.target))).collect();
        let mut config = vec![json!({"type": "execute", "parameters": {"command": ["mkdir", "-p", WORK]}})];
        if !files.is_empty() {
            config.push(json!({"type": "upload_file", "parameters": {"files": files}}));
        }
        config.push(json!({"type": "execute", "parameters": {"command": ["touch", BEGUN]}}));
        let world = EvalWorld::of(&eval.environment);
        config.push(world.start);
        let mut task = json!({
            "id": id,
            "instruction": instruction(eval),
            "config": config,
            "evaluator": self.evaluator(eval),
            "related_apps": [world.domain],
        });
        brace(&mut task);
        task["apprentice"] = json!({
            "environment": world.environment,
            "template": id,
            "programs": world.programs,
            "limits": {"world_steps": WORLD_STEPS, "turns": WORLD_STEPS * 2, "working_s": WORKING_S},
            // A label that is the name of a skill says that the skill bears on the task.
            "knowledge": [self.skill],
            "vary": {"open": ["{{"], "repetition": {"integer": REPETITIONS}},
        });
        task
    }

    /// The checks without a model, one metric each, and the statements as one.
    fn evaluator(&self, eval: &SkillEval) -> Value {
        let mut parts = CheckParts::default();
        eval.checks.iter().for_each(|check| parts.add_check(check));
        if eval.checks.is_empty() {
            // Nothing tells whether it is done: it never passes, so that no row claims what nothing checked.
            let never = json!({"type": "rule", "rules": {"expected": "nothing is checked"}});
            parts.add("exact_match", nothing(), never, json!({}));
        }
        let statements = std::mem::take(&mut parts.statements);
        if !statements.is_empty() {
            let listing = json!({"type": "vm_command_line", "command": ["sh", "-c", LISTING]});
            parts.add("skill_statements", nothing(), listing, json!({ "statements": statements }));
        }
        let CheckParts { func, result, expected, options, .. } = parts;
        let mut check =
            json!({"func": func, "result": result, "expected": expected, "options": options, "conj": "mean"});
        let scripts = self.grading_files(eval);
        if !scripts.is_empty() {
            check["postconfig"] = json!(scripts);
        }
        check
    }

    /// The steps that bring a package's scripts into the world after the attempt, into a folder that is new.
    fn grading_files(&self, eval: &SkillEval) -> Vec<Value> {
        if !eval.checks.iter().any(|check| matches!(check, EvalCheck::Script { .. })) {
            return Vec::new();
        }
        let given: Vec<&String> = eval.files.iter().map(|file| &file.path).collect();
        let mut files: Vec<String> = self.copied(eval).into_iter().map(|(path, _)| path).collect();
        files.retain(|path| !given.contains(&path));
        files.sort_unstable();
        files.dedup();
        let entry = |path: &String| json!({"local_path": format!("{FILES}/{path}"), "path": format!("{GRADING}/{path}")});
        vec![
            json!({"type": "execute", "parameters": {"command": ["rm", "-rf", GRADING]}}),
            json!({"type": "upload_file", "parameters": {"files": files.iter().map(entry).collect::<Vec<_>>()}}),
        ]
    }
}

/// The lists of a task's check, one entry a metric.
#[derive(Default)]
struct CheckParts {
    func: Vec<String>,
    result: Vec<Value>,
    expected: Vec<Value>,
    options: Vec<Value>,
    /// Statements, which become one metric at the end.
    statements: Vec<String>,
}

impl CheckParts {
    fn add(&mut self, name: &str, result: Value, expected: Value, options: Value) {
        self.func.push(name.to_owned());
        self.result.push(result);
        self.expected.push(expected);
        self.options.push(options);
    }

    fn add_check(&mut self, check: &EvalCheck) {
        match check {
            EvalCheck::Statement { text } => self.statements.push(text.clone()),
            EvalCheck::AnswerHolds { text } => self.add_answer(json!({"include": [text]})),
            EvalCheck::AnswerLacks { text } => self.add_answer(json!({"exclude": [text]})),
            EvalCheck::AnswerMatches { pattern } => self.add_answer(json!({"pattern": pattern})),
            EvalCheck::FileExists { path } => {
                let line = "test -e \"$0\" && echo yes || echo no";
                self.add_output(&json!(["sh", "-c", line, format!("{WORK}/{path}")]), "yes\n");
            }
            EvalCheck::FileHolds { path, text } => {
                let line = "grep -qF -- \"$1\" \"$0\" 2>/dev/null && echo yes || echo no";
                self.add_output(&json!(["sh", "-c", line, format!("{WORK}/{path}"), text]), "yes\n");
            }
            EvalCheck::PageHolds { text } => {
                let found = json!({"type": "page_contents", "program_html": [{"url": "last", "locator": page_holds(text)}]});
                let expected = json!({"type": "rule", "rules": {"expected": ["yes"]}});
                self.add("exact_match", found, expected, json!({}));
            }
            EvalCheck::Script { path, arguments } => {
                let script = format!("{GRADING}/{path}");
                let mut command = vec!["sh".to_owned(), "-c".to_owned(), SCRIPT.to_owned(), script];
                command.extend(arguments.iter().cloned());
                self.add_output(&json!(command), "0\n");
            }
        }
    }

    fn add_answer(&mut self, options: Value) {
        self.add("skill_answer", nothing(), json!({}), options);
    }

    /// A command whose output must be this text.
    fn add_output(&mut self, command: &Value, text: &str) {
        let found = json!({"type": "vm_command_line", "command": command});
        self.add("exact_match", found, json!({"type": "rule", "rules": {"expected": text}}), json!({}));
    }
}

/// The result of a metric that reads the answer.
fn nothing() -> Value {
    json!({"type": "rule", "rules": ""})
}

/// Writes the skills that bear on no evaluation.
pub(super) fn write_inert(folder: &Path) -> Result<(), DrawError> {
    let place = folder.join("inert/general");
    INERT.iter().try_for_each(|(name, page)| write(&place.join(format!("{name}.md")), page.as_bytes()))
}

/// The id of an evaluation's task, which is its template, too.
pub fn task_id(eval: &SkillEval) -> String {
    format!("eval-{}", eval.id)
}

/// Makes opening braces in texts of a package texts, which would otherwise begin a placeholder.
fn brace(value: &mut Value) {
    match value {
        Value::String(text) if text.contains("{{") => *text = text.replace("{{", BRACES),
        Value::Array(list) => list.iter_mut().for_each(brace),
        Value::Object(fields) => fields.values_mut().for_each(brace),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<(), DrawError> {
    let failed = |source| DrawError { path: path.to_owned(), source };
    path.parent().map_or(Ok(()), fs::create_dir_all).map_err(failed)?;
    fs::write(path, bytes).map_err(failed)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use apprentice_protocol::SkillId;
    use apprentice_skillbook::package::Package;
    use apprentice_skillbook::package::evals::read_evals;
    use apprentice_tasks::suite::load::load;
    use apprentice_tasks::suite::requirements::most_questions;
    use apprentice_tasks::variation::vary;
    use serde_json::json;

    use super::Drawing;

    fn drawn(folder: &Path) -> apprentice_tasks::suite::Suite {
        let evals = json!({"evals": [{"id": 1, "prompt": "Fill {{name}} into a.txt.", "files": ["evals/files/a.txt"], "expectations": [
            "It is {{name}} no more.", "It is short.", {"type": "contains", "value": "{{done}}"},
            {"type": "file_exists", "path": "b.txt"}, {"type": "script", "path": "evals/check.py"}]}]});
        let files = [
            ("SKILL.md", "---\nname: s\ndescription: d\n---\nDo it.\n".to_owned()),
            ("evals/evals.json", evals.to_string()),
            ("evals/files/a.txt", "a".to_owned()),
            ("evals/check.py", "print(1)".to_owned()),
            ("evals/helper.py", "x = 1".to_owned()),
        ];
        let files = files.into_iter().map(|(path, text)| (path.to_owned(), text.into_bytes())).collect();
        let package = Package { name: "s".into(), files };
        let found = read_evals(&package).expect("evaluations");
        let skill = SkillId::parse("general/s").expect("an id");
        Drawing { package: &package, skill: &skill, evals: &found.evals }.write(folder).expect("written");
        load(folder).expect("it loads")
    }

    #[test]
    fn evaluations_become_a_suite_whose_texts_stay_as_they_are() {
        let folder = tempfile::tempdir().expect("a folder");
        let suite = drawn(folder.path());
        let [task] = suite.tasks.as_slice() else { panic!("one task") };
        assert_eq!((task.id.as_str(), most_questions(task)), ("eval-1", 2));
        let varied = vary(task, &suite.name, 0).expect("it varies").task;
        assert!(varied.instruction.starts_with("Fill {{name}} into a.txt."), "{}", varied.instruction);
        let check = serde_json::to_string(&varied.evaluator).expect("JSON");
        assert!(check.contains("It is {{name}} no more.") && check.contains("{{done}}"), "{check}");
        assert!(task.varies(), "repetitions are variations");
        assert!(folder.path().join("inert/general/tie-a-bowline.md").is_file());
    }

    #[test]
    fn scripts_and_expectations_come_into_the_world_after_the_attempt_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let suite = drawn(folder.path());
        let before = serde_json::to_string(&suite.tasks[0].config).expect("JSON");
        assert!(!before.contains("check.py") && !before.contains("evals.json"), "{before}");
        let after = serde_json::to_string(&suite.tasks[0].evaluator.postconfig).expect("JSON");
        assert!(
            after.contains("/home/user/.grading/evals/check.py") && after.contains("helper.py"),
            "{after}"
        );
    }
}
