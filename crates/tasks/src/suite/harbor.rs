//! Creates a suite from tasks of Harbor's form: an instruction, an environment, and a script that grades by a reward.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use apprentice_protocol::{EnvironmentKind, RootFolder};
use serde_json::{Map, Value, json};

use super::conversion::{Conversion, ConversionError, Files, NewSuite, read_folder};
use super::dockerfile::{Dockerfile, read_dockerfile};
use super::harbor_file::{self, TaskFile};

/// What a suite of Harbor's tasks is made with.
#[derive(Clone, Copy, Debug)]
pub struct HarborOptions {
    /// The kind of world that all tasks get: Harbor's files name none.
    pub environment: EnvironmentKind,
    /// Whether this machine has what the tasks' images install, so that those lines are skipped.
    pub installed: bool,
}

/// Writes a suite of a task's folder, or of a folder of such, into a new folder.
///
/// # Errors
///
/// Fails if `from` cannot be read or holds no task that can be taken, or if `to` is not empty.
pub fn add(from: &Path, to: &Path, options: HarborOptions) -> Result<Conversion, ConversionError> {
    let folders = task_folders(from)?;
    let mut suite = NewSuite::begin(to)?;
    let mut done = Conversion::default();
    for folder in &folders {
        let files = read_folder(folder)?;
        let id = task_id(folder);
        match convert(folder, &id, &files, options)? {
            Ok(task) => {
                suite.pack(&format!("files/{id}/tests.tar"), &below(&files, "tests"))?;
                if !task.copied.is_empty() {
                    suite.pack(&format!("files/{id}/environment.tar"), &task.copied)?;
                }
                suite.add("harbor", &id, &task.json)?;
                done.tasks += 1;
            }
            Err(why) => *done.left_out.entry(why).or_default() += 1,
        }
    }
    if done.tasks == 0 {
        let why: Vec<String> = done.left_out.keys().cloned().collect();
        return Err(ConversionError::NoTask(why.join("; ")));
    }
    suite.finish()?;
    Ok(done)
}

fn task_folders(from: &Path) -> Result<Vec<PathBuf>, ConversionError> {
    let is_task = |folder: &Path| folder.join("task.toml").is_file();
    if is_task(from) {
        return Ok(vec![from.to_owned()]);
    }
    let listed = std::fs::read_dir(from).map_err(super::conversion::io_error(from))?;
    let mut folders: Vec<PathBuf> =
        listed.flatten().map(|one| one.path()).filter(|path| is_task(path)).collect();
    folders.sort_unstable();
    if folders.is_empty() {
        return Err(ConversionError::Nothing {
            path: from.to_owned(),
            what: "task of Harbor: a folder with task.toml",
        });
    }
    Ok(folders)
}

/// Returns a task's id: the name of its folder.
fn task_id(folder: &Path) -> String {
    let name = std::fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    let name = name.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    name.chars().map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' }).collect()
}

/// Returns the files below one of a task's folders.
fn below(files: &Files, folder: &str) -> Files {
    let start = format!("{folder}/");
    let own = |(name, file): (&String, &_)| Some((name.strip_prefix(&start)?.to_owned(), Clone::clone(file)));
    files.iter().filter_map(own).collect()
}

/// A converted task.
struct Converted {
    json: Value,
    copied: Files,
}

/// Converts one task; the inner error says why it cannot be taken.
fn convert(
    folder: &Path,
    id: &str,
    files: &Files,
    options: HarborOptions,
) -> Result<Result<Converted, String>, ConversionError> {
    let text = |name: &str| files.get(name).map(|file| String::from_utf8_lossy(&file.bytes).into_owned());
    let read = harbor_file::read(&text("task.toml").unwrap_or_default());
    let read = read.map_err(|error| ConversionError::Content {
        path: folder.join("task.toml"),
        problem: error.to_string().trim_end().to_owned(),
    })?;
    let settings = match read {
        Ok(settings) => settings,
        Err(why) => return Ok(Err(why)),
    };
    let Some(instruction) = text("instruction.md") else { return Ok(Err("it has no instruction.md".into())) };
    if !files.contains_key("tests/test.sh") {
        return Ok(Err("it has no tests/test.sh".into()));
    }
    if let Some(why) = obstacle(&settings, files) {
        return Ok(Err(why));
    }
    let image = match text("environment/Dockerfile") {
        Some(text) => match read_dockerfile(&text, &below(files, "environment"), options.installed) {
            Ok(image) => image,
            Err(why) => return Ok(Err(why)),
        },
        None => Dockerfile::default(),
    };
    let script = text("tests/test.sh").unwrap_or_default();
    let folders = match root_folders(&settings, &image, [&instruction, &script]) {
        Ok(folders) => folders,
        Err(why) => return Ok(Err(why)),
    };
    let mut json = task(id, instruction.trim_end(), &settings, &image, options);
    json["apprentice"]["folders"] = json!(folders);
    match settings.hosts() {
        Ok(hosts) if hosts.is_empty() => {}
        Ok(hosts) => json["apprentice"]["network"] = json!(hosts),
        Err(why) => return Ok(Err(why)),
    }
    if let (Some(program), Some(programs)) =
        (interpreter(&script), json["apprentice"]["programs"].as_array_mut())
        && !programs.contains(&json!(program))
    {
        programs.push(json!(program));
    }
    Ok(Ok(Converted { json, copied: image.copied }))
}

/// Returns the folders below the root that a task writes to, as its image, its instruction and its script name them; or says which of
/// the system's its image would change.
fn root_folders(
    settings: &TaskFile,
    image: &Dockerfile,
    texts: [&str; 2],
) -> Result<BTreeSet<RootFolder>, String> {
    let workdir = settings.environment.workdir.as_deref().unwrap_or(&image.workdir);
    let copied: Vec<String> = image.copied.keys().map(|name| format!("/{name}")).collect();
    let can = |path: &str| {
        let free = ["/home/", "/tmp/", "/var/tmp/"];
        free.iter().any(|free| path.starts_with(free)) || RootFolder::above(path).is_some()
    };
    if let Some(path) = copied.iter().find(|path| !can(path)) {
        return Err(format!("its image copies files to {path}, which no cell can change"));
    }
    let commands = image.run.iter().flat_map(|(folder, line)| [folder.as_str(), line.as_str()]);
    let words = commands
        .chain(texts)
        .flat_map(|text| text.split(|c: char| c.is_whitespace() || "\"'`=:;,()".contains(c)));
    let named = words.chain([workdir, "/logs", "/tests"]).chain(copied.iter().map(String::as_str));
    Ok(named.filter_map(RootFolder::above).collect())
}

/// Says what a task needs that no cell can give.
fn obstacle(settings: &TaskFile, files: &Files) -> Option<String> {
    let named = |name: &str| files.keys().any(|file| file == &format!("environment/{name}"));
    let several = named("docker-compose.yaml") || named("docker-compose.yml");
    several.then(|| "it needs several containers".to_owned()).or_else(|| settings.obstacle())
}

/// The program that a script's first line names, as its system would start it.
fn interpreter(script: &str) -> Option<String> {
    let mut words = script.lines().next()?.strip_prefix("#!")?.split_whitespace();
    let name = |path: &str| path.rsplit('/').next().map(str::to_owned);
    let first = name(words.next()?)?;
    match first.as_str() {
        "env" => words.find(|word| !word.starts_with('-') && !word.contains('=')).and_then(name),
        _ => Some(first),
    }
}

/// The variables of the script: those of the image, of the environment, and its own.
fn script_variables(settings: &TaskFile, image: &Dockerfile) -> Map<String, Value> {
    let given = image.plain_env().chain(settings.environment.env.clone());
    given.chain(settings.verifier.env.clone()).map(|(name, value)| (name, value.into())).collect()
}

/// The lines of a shell that give the variables of the image, and then those of the environment.
fn shell_variables(settings: &TaskFile, image: &Dockerfile) -> String {
    let own = settings.environment.env.iter().map(|(name, value)| {
        // Values have no zero bytes: TOML has none.
        let quoted = shlex::try_quote(value).unwrap_or_default();
        format!("export {name}={quoted}\n")
    });
    image.env.iter().map(|(name, value)| format!("export {name}={value}\n")).chain(own).collect()
}

fn task(
    id: &str,
    instruction: &str,
    settings: &TaskFile,
    image: &Dockerfile,
    options: HarborOptions,
) -> Value {
    let step = |kind: &str, parameters: Value| json!({"type": kind, "parameters": parameters});
    let run =
        |line: String| step("execute", json!({"command": ["sh", "-c", line], "until": {"returncode": 0}}));
    let workdir = settings.environment.workdir.clone().unwrap_or_else(|| image.workdir.clone());
    let unpack = |archive: &str, place: &str| -> [Value; 2] {
        let path = format!("/tmp/.{archive}");
        let files = json!([{"local_path": format!("files/{id}/{archive}"), "path": path}]);
        [
            step("upload_file", json!({"files": files})),
            run(format!("mkdir -p {place} && tar -xf {path} -C {place} && rm {path}")),
        ]
    };
    let mut config = vec![run(format!("mkdir -p /logs/agent /logs/verifier /logs/artifacts '{workdir}'"))];
    if !image.copied.is_empty() {
        config.extend(unpack("environment.tar", "/"));
    }
    // The script comes into the world only after the attempt, and beside nothing that the attempt left there.
    let grading =
        [vec![run("find /tests -mindepth 1 -delete".into())], unpack("tests.tar", "/tests").to_vec()]
            .concat();
    let exports: String = image.env.iter().map(|(name, value)| format!("export {name}={value}; ")).collect();
    for (folder, line) in &image.run {
        config.push(run(format!("mkdir -p '{folder}' && cd '{folder}' && {exports}{line}")));
    }
    let shells = shell_variables(settings, image);
    if !shells.is_empty() {
        // What Harbor's agents run by a shell of the container, an agent here runs by one of the world.
        let quoted = shlex::try_quote(&shells).unwrap_or_default();
        config.push(run(format!("printf %s {quoted} | tee -a ~/.bashrc ~/.profile >/dev/null")));
    }
    let variables = script_variables(settings, image);
    let mut getter = json!({"type": "harbor_reward", "workdir": workdir, "env": variables});
    if let Some(seconds) = settings.verifier.timeout_sec {
        getter["timeout_sec"] = seconds.into();
    }
    let mut limits = json!({});
    if let Some(seconds) = settings.agent.timeout_sec.filter(|seconds| *seconds >= 1.0) {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a limit in whole seconds"
        )]
        let whole = seconds as u64;
        limits["working_s"] = whole.into();
    }
    json!({
        "id": id,
        "instruction": instruction,
        "source": "Harbor",
        "config": config,
        "evaluator": {
            "func": "harbor_reward",
            "result": getter,
            "postconfig": grading,
        },
        "apprentice": {
            "environment": options.environment,
            "template": id,
            "limits": limits,
            "programs": ["bash", "tar"],
        },
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use apprentice_protocol::{EnvironmentKind, RootFolder};

    use super::{HarborOptions, add};
    use crate::suite::{ConversionError, load};

    const DESKTOP: HarborOptions = HarborOptions { environment: EnvironmentKind::Desktop, installed: false };

    fn write(root: &Path, name: &str, text: &str) {
        let path = root.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("written");
    }

    #[test]
    fn an_image_that_changes_the_system_is_left_out() {
        let place = tempfile::tempdir().expect("a folder");
        let (from, to) = (place.path().join("from"), place.path().join("to"));
        for (task, target) in [("own", "/data/in/"), ("system", "/etc/cron.d/")] {
            write(&from, &format!("{task}/task.toml"), "version = \"1.0\"\n");
            write(
                &from,
                &format!("{task}/instruction.md"),
                "Write `/answers/it.txt`, as https://example.org/all asks.\n",
            );
            write(
                &from,
                &format!("{task}/tests/test.sh"),
                "ls '/results/x'; echo 1 > /logs/verifier/reward.txt\n",
            );
            let image = format!("FROM x\nCOPY a.txt {target}\nRUN mkdir /cache\n");
            write(&from, &format!("{task}/environment/Dockerfile"), &image);
            write(&from, &format!("{task}/environment/a.txt"), "a");
        }
        let done = add(&from, &to, DESKTOP).expect("made");
        let why = done.left_out.keys().next().expect("one").as_str();
        assert_eq!(why, "its image copies files to /etc/cron.d/a.txt, which no cell can change");
        let suite = load(&to).expect("loads");
        let folders = &suite.tasks[0].apprentice.as_ref().expect("ours").folders;
        let named: Vec<&str> = folders.iter().map(RootFolder::name).collect();
        assert_eq!(named, ["answers", "cache", "data", "logs", "results", "tests"]);
    }

    #[test]
    fn folders_become_tasks_that_load() {
        let place = tempfile::tempdir().expect("a folder");
        let (from, to) = (place.path().join("from"), place.path().join("to"));
        for (task, extra) in [("hello", ""), ("image", "[environment]\ndocker_image = \"x\"")] {
            let toml = format!(
                "version = \"1.0\"\n[agent]\ntimeout_sec = 90.0\n[verifier]\ntimeout_sec = 5.0\n{extra}"
            );
            write(&from, &format!("{task}/task.toml"), &toml);
            write(&from, &format!("{task}/instruction.md"), "Write it.\n");
            write(&from, &format!("{task}/tests/test.sh"), "echo 1 > /logs/verifier/reward.txt\n");
            write(
                &from,
                &format!("{task}/environment/Dockerfile"),
                "FROM x\nWORKDIR /app\nCOPY a.txt b.txt\n",
            );
            write(&from, &format!("{task}/environment/a.txt"), "a");
        }
        let done = add(&from, &to, DESKTOP).expect("made");
        assert_eq!((done.tasks, done.left_out.len()), (1, 1));
        let suite = load(&to).expect("loads");
        let task = &suite.tasks[0];
        assert_eq!((task.id.as_str(), task.instruction.as_str()), ("hello", "Write it."));
        let folders = &task.apprentice.as_ref().expect("ours").folders;
        assert_eq!(folders.iter().map(RootFolder::name).collect::<Vec<_>>(), ["app", "logs", "tests"]);
        assert!(
            to.join("files/hello/environment.tar").is_file() && to.join("files/hello/tests.tar").is_file()
        );
        assert!(matches!(add(&from.join("hello/tests"), &to, DESKTOP), Err(ConversionError::Nothing { .. })));
    }
}
