//! Creates a suite from task files of WebArena's form, with the addresses of the sites that stand for its placeholders.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use apprentice_protocol::AllowedHost;
use regex::Regex;
use serde_json::{Map, Value, json};

use super::conversion::{Conversion, ConversionError, NewSuite, io_error, read_folder, read_wheel};
use super::foreign::is_web_arena;
use apprentice_metrics::Url;

/// The sites of WebArena and VisualWebArena; the placeholder of each is its name in capitals between `__`.
pub const SITES: &[&str] =
    &["shopping", "shopping_admin", "reddit", "gitlab", "wikipedia", "map", "homepage", "classifieds"];
/// The list of all tasks in the package `libwebarena`.
const PACKAGE: &str = "webarena/";
const LIST: &str = "test.raw.json";
/// Port of the pages that a world serves to its own browser.
const PORT: u16 = 8123;
/// Separates the start pages of a task.
const AND: &str = " |AND| ";
/// Steps of upstream's runs.
const STEPS: u32 = 30;
/// The kinds of evaluation, with the metric of each.
const KINDS: [(&str, &str); 3] = [
    ("string_match", "webarena_string_match"),
    ("url_match", "webarena_url_match"),
    ("program_html", "webarena_program_html"),
];

/// What a suite of WebArena's tasks is made with.
#[derive(Clone, Debug, Default)]
pub struct WebArenaOptions {
    /// The address of each site, by the site's name.
    pub sites: BTreeMap<String, String>,
    /// Hosts of sites that another address answers for, such as one of this machine.
    pub hosts: Vec<AllowedHost>,
    /// A folder of pages that the world serves to its own browser at `http://127.0.0.1:8123/`.
    pub pages: Option<PathBuf>,
    /// A folder with the browser's saved state for each login, under the file names of the tasks.
    pub auth: Option<PathBuf>,
}

static PLACEHOLDER: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new("__([A-Z_]+?)__").ok());

/// Writes a suite of the tasks of a wheel, a list, a folder of task files or one of them into a new folder.
///
/// # Errors
///
/// Fails if `from` cannot be read or holds no task that can be taken, or if `to` is not empty.
pub fn add(from: &Path, to: &Path, options: &WebArenaOptions) -> Result<Conversion, ConversionError> {
    let configs = read(from)?;
    let mut suite = NewSuite::begin(to)?;
    let mut done = Conversion::default();
    for config in &configs {
        match convert(config, options) {
            Ok(task) => {
                task.needs.into_iter().for_each(|need| *done.needs.entry(need).or_default() += 1);
                suite.add(&task.app, &task.id, &task.json)?;
                done.tasks += 1;
            }
            Err(why) => *done.left_out.entry(why).or_default() += 1,
        }
    }
    if done.tasks == 0 {
        let why: Vec<String> = done.left_out.keys().cloned().collect();
        return Err(ConversionError::NoTask(why.join("; ")));
    }
    if let Some(pages) = &options.pages {
        suite.pack("files/pages.tar", &read_folder(pages)?)?;
    }
    if let Some(auth) = &options.auth {
        for (name, file) in read_folder(auth)? {
            suite.write(&format!("files/auth/{name}"), &file.bytes)?;
        }
    }
    suite.finish()?;
    Ok(done)
}

/// Reads all task configurations, those of a folder by number.
fn read(from: &Path) -> Result<Vec<Value>, ConversionError> {
    let texts: Vec<(PathBuf, Vec<u8>)> = if from.is_dir() {
        let files = read_folder(from)?.into_iter().filter(|(name, _)| name.ends_with(".json"));
        files.map(|(name, file)| (from.join(name), file.bytes)).collect()
    } else if from.extension().is_some_and(|end| end == "whl") {
        read_wheel(from, PACKAGE)?
            .remove(LIST)
            .map(|file| (from.join(LIST), file.bytes))
            .into_iter()
            .collect()
    } else {
        vec![(from.to_owned(), apprentice_files::read(from).map_err(io_error(from))?)]
    };
    let mut configs = Vec::new();
    for (path, bytes) in texts {
        let value: Value = serde_json::from_slice(&bytes)
            .map_err(|error| ConversionError::Content { path: path.clone(), problem: error.to_string() })?;
        match value {
            Value::Array(list) => configs.extend(list),
            single => configs.push(single),
        }
    }
    configs.retain(is_web_arena);
    if configs.is_empty() {
        let what = "task of WebArena: name the wheel of the package `libwebarena`, a list of tasks or a folder of them";
        return Err(ConversionError::Nothing { path: from.to_owned(), what });
    }
    configs.sort_by_key(|config| config["task_id"].as_u64());
    Ok(configs)
}

/// A converted task.
struct Converted {
    app: String,
    id: String,
    json: Value,
    needs: Vec<String>,
}

/// Converts one task; the error says why it cannot be taken.
fn convert(config: &Value, options: &WebArenaOptions) -> Result<Converted, String> {
    let number = &config["task_id"];
    let number = number.as_u64().map(|id| id.to_string()).or_else(|| number.as_str().map(str::to_owned));
    let number = number.ok_or("it has no \"task_id\"")?;
    if !number.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c)) {
        return Err("its \"task_id\" is no plain name".into());
    }
    if !config["geolocation"].is_null() {
        return Err("it sets the browser's place on earth".into());
    }
    if !config["image"].is_null() {
        return Err("its instruction has pictures".into());
    }
    let config = &placed(config, &options.sites)?;
    let instruction = config["intent"].as_str().ok_or("its \"intent\" is no text")?;
    let sites: Vec<&str> =
        config["sites"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let (evaluator, mut needs) = evaluator(config, &options.sites)?;
    let start = config["start_url"].as_str().unwrap_or_default();
    let starts: Vec<&str> = start.split(AND).filter(|page| !page.is_empty()).collect();
    let state = config["storage_state"].as_str().and_then(|path| Path::new(path).file_name()?.to_str());
    if let Some(state) =
        state.filter(|state| !options.auth.as_ref().is_some_and(|auth| auth.join(state).is_file()))
    {
        needs.push(format!("the setup needs the saved login {state} (--auth)"));
    }
    let template = match config["intent_template_id"].as_u64() {
        Some(template) => format!("webarena-{template}"),
        None => format!("webarena-task-{number}"),
    };
    let mut programs = vec!["chromium"];
    programs.extend(options.pages.as_ref().map(|_| "python3"));
    let json = json!({
        "id": format!("webarena.{number}"),
        "instruction": instruction,
        "source": "WebArena",
        "config": setup(&starts, state, options),
        "evaluator": evaluator,
        "apprentice": {
            "environment": "browser",
            "template": template,
            "screen": {"width": 1280, "height": 720},
            "limits": {"world_steps": STEPS, "turns": STEPS * 3 / 2},
            "network": hosts(options),
            "programs": programs,
        },
    });
    let app = if sites.is_empty() { "webarena".to_owned() } else { sites.join("-") };
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_".contains(c) { c } else { '_' };
    Ok(Converted { app: app.chars().map(plain).collect(), id: format!("webarena.{number}"), json, needs })
}

/// Puts the sites' addresses in place of their placeholders.
fn placed(value: &Value, sites: &BTreeMap<String, String>) -> Result<Value, String> {
    Ok(match value {
        Value::String(text) => {
            let mut text = text.clone();
            for (site, address) in sites {
                text = text.replace(&format!("__{}__", site.to_uppercase()), address);
            }
            let open = PLACEHOLDER.as_ref().and_then(|pattern| pattern.captures(&text));
            if let Some(site) =
                open.map(|open| open[1].to_lowercase()).filter(|site| SITES.contains(&site.as_str()))
            {
                return Err(format!("the site {site:?} has no address (--site {site}=URL)"));
            }
            Value::String(text)
        }
        Value::Array(list) => list.iter().map(|one| placed(one, sites)).collect::<Result<_, _>>()?,
        Value::Object(fields) => {
            let placed = fields.iter().map(|(name, one)| Ok((name.clone(), placed(one, sites)?)));
            Value::Object(placed.collect::<Result<Map<_, _>, String>>()?)
        }
        other => other.clone(),
    })
}

/// Returns the check, and what it needs to be graded.
fn evaluator(config: &Value, sites: &BTreeMap<String, String>) -> Result<(Value, Vec<String>), String> {
    let eval = &config["eval"];
    let (mut func, mut results, mut expected) = (Vec::new(), Vec::new(), Vec::new());
    for kind in eval["eval_types"].as_array().into_iter().flatten() {
        let kind = kind.as_str().ok_or_else(|| format!("it is evaluated by {kind}"))?;
        let (_, metric) = KINDS
            .iter()
            .find(|(known, _)| *known == kind)
            .ok_or_else(|| format!("it is evaluated by {kind:?}"))?;
        func.push(*metric);
        let (result, rules) = match kind {
            // The answer itself comes from the attempt.
            "string_match" => (json!({"type": "rule", "rules": ""}), answer_rules(eval)),
            "url_match" => {
                let mut rules = json!({"reference_url": eval["reference_url"]});
                if !eval["url_note"].is_null() {
                    rules["url_note"] = eval["url_note"].clone();
                }
                (json!({"type": "active_page_url"}), rules)
            }
            _ => {
                let targets = targets(eval)?;
                let mut getter = json!({"type": "page_contents", "program_html": targets});
                if let Some(shop) = sites.get("shopping") {
                    getter["shop"] = shop.as_str().into();
                }
                (getter, json!({"program_html": targets}))
            }
        };
        results.push(result);
        expected.push(json!({"type": "rule", "rules": rules}));
    }
    if func.is_empty() {
        return Err("it has no \"eval_types\"".into());
    }
    let fuzzy = &eval["reference_answers"]["fuzzy_match"];
    let needs = match fuzzy {
        Value::Null => Vec::new(),
        Value::String(_) => {
            vec!["void without a model as judge (--judge MODEL), unless the answer is N/A".to_owned()]
        }
        _ => vec![
            "void without a model as judge (--judge MODEL), unless another part of the check fails"
                .to_owned(),
        ],
    };
    Ok((json!({"func": func, "conj": "and", "result": results, "expected": expected}), needs))
}

/// Returns the references of an answer, with the reason why the task cannot be done where that is to be answered.
fn answer_rules(eval: &Value) -> Value {
    let mut rules = json!({"reference_answers": eval["reference_answers"]});
    let compares = eval["reference_answers"]["fuzzy_match"].is_string();
    if let Some(reason) = eval.get("string_note").filter(|reason| compares && reason.is_string()) {
        rules["string_note"] = reason.clone();
    }
    rules
}

/// Returns the pages to look at, which must say where they are and what is read in them.
fn targets(eval: &Value) -> Result<&Value, String> {
    let list = &eval["program_html"];
    let each = list.as_array().ok_or("its \"program_html\" is no list")?;
    for key in ["url", "locator"] {
        if each.iter().any(|target| !target[key].is_string()) {
            return Err(format!("its \"program_html\" has a target without a text {key:?}"));
        }
    }
    Ok(list)
}

/// Returns the setup: the world's own pages, the login, and the start pages.
fn setup(starts: &[&str], state: Option<&str>, options: &WebArenaOptions) -> Vec<Value> {
    let step = |kind: &str, parameters: Value| json!({"type": kind, "parameters": parameters});
    let mut steps = Vec::new();
    if options.pages.is_some() {
        let place = "/home/user/.pages";
        let tar = format!("{place}/pages.tar");
        let files = json!({"files": [{"local_path": "files/pages.tar", "path": tar}]});
        let html = format!("{place}/html");
        let port = PORT.to_string();
        let server =
            json!(["python3", "-m", "http.server", port, "--bind", "127.0.0.1", "--directory", html]);
        let asked = format!("import socket; socket.create_connection((\"127.0.0.1\", {PORT}), 5)");
        let ready = json!({"command": ["python3", "-c", asked], "until": {"returncode": 0}});
        let unpack = format!("mkdir -p {html} && tar -xf {tar} -C {html}");
        steps.push(step("upload_file", files));
        steps.push(step("execute", json!({"command": ["sh", "-c", unpack], "until": {"returncode": 0}})));
        steps.push(step("launch", json!({"command": server})));
        steps.push(step("execute", ready));
    }
    if let Some(state) = state {
        steps.push(step("browser_state", json!({"local_path": format!("files/auth/{state}")})));
    }
    if !starts.is_empty() {
        steps.push(step("chrome_open_tabs", json!({"urls_to_open": starts})));
    }
    steps
}

/// Returns the hosts of the sites, as a world's network names them; a world's own pages need none.
fn hosts(options: &WebArenaOptions) -> Vec<String> {
    let mut hosts = Vec::new();
    for address in options.sites.values() {
        let url = Url::parse(address);
        let usual = if url.scheme == "https" { 443 } else { 80 };
        let split = url.host.rsplit_once(':').and_then(|(name, port)| Some((name, port.parse().ok()?)));
        let (name, port) = split.unwrap_or((&url.host, usual));
        if name.is_empty() || matches!(name, "localhost" | "127.0.0.1") {
            continue;
        }
        let answered = options.hosts.iter().find(|one| one.allows(name, port));
        hosts.push(answered.map_or_else(|| url.host.clone(), ToString::to_string));
    }
    hosts.sort_unstable();
    hosts.dedup();
    hosts
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;

    use super::{WebArenaOptions, add};
    use crate::suite::{ConversionError, load};

    fn config(id: u32, start: &str) -> serde_json::Value {
        json!({
            "task_id": id, "sites": ["shopping"], "start_url": start, "storage_state": null, "geolocation": null,
            "intent_template": "Find {{what}}", "intent": "Find it", "intent_template_id": 7,
            "eval": {
                "eval_types": ["string_match", "url_match", "program_html"],
                "reference_answers": {"must_include": ["2"]}, "reference_url": "__SHOPPING__/cart",
                "program_html": [{"url": "last", "locator": "", "required_contents": {"must_include": ["x"]}}],
            },
        })
    }

    #[test]
    fn the_reason_why_a_task_cannot_be_done_comes_along() {
        let rules = |fuzzy: serde_json::Value| {
            let eval = json!({"reference_answers": {"fuzzy_match": fuzzy}, "string_note": "no such shop"});
            super::answer_rules(&eval)["string_note"].clone()
        };
        assert_eq!(rules(json!("N/A")), "no such shop");
        // A note beside references is a remark for people.
        assert_eq!(rules(json!(["two"])), json!(null));
    }

    #[test]
    fn configurations_become_tasks_that_load() {
        let place = tempfile::tempdir().expect("a folder");
        let (from, to) = (place.path().join("list.json"), place.path().join("suite"));
        let list = json!([config(2, "__SHOPPING__ |AND| __SHOPPING__/b"), config(1, "__REDDIT__")]);
        fs::write(&from, list.to_string()).expect("written");
        let options = WebArenaOptions::default();
        assert!(matches!(add(&from, &to, &options), Err(ConversionError::NoTask(_))));
        let sites = [("shopping".to_owned(), "http://shop.test:7770".to_owned())].into();
        let hosts = vec!["shop.test:7770=127.0.0.1:80".parse().expect("a host")];
        let done = add(&from, &to, &WebArenaOptions { sites, hosts, ..options }).expect("made");
        assert_eq!((done.tasks, done.left_out.len()), (1, 1));
        let suite = load(&to).expect("loads");
        let task = &suite.tasks[0];
        assert_eq!(
            (task.id.as_str(), task.template(), task.app.as_str()),
            ("webarena.2", "webarena-7", "shopping")
        );
        let opened = task.config[0].parameters["urls_to_open"].to_string();
        assert_eq!(opened, r#"["http://shop.test:7770","http://shop.test:7770/b"]"#);
        let text = fs::read_to_string(to.join("examples/shopping/webarena.2.json")).expect("a file");
        assert!(text.contains("shop.test:7770=127.0.0.1:80"), "{text}");
        assert!(text.contains("shop.test:7770/cart") && !text.contains("__SHOPPING__"), "{text}");
    }

    #[test]
    fn targets_without_a_place_are_left_out_and_told() {
        let place = tempfile::tempdir().expect("a folder");
        let from = place.path().join("list.json");
        let mut damaged = Vec::new();
        for (id, part) in [(2, "url"), (3, "locator")] {
            let mut task = config(id, "http://a.test");
            task["eval"]["program_html"][0].as_object_mut().expect("a target").remove(part);
            damaged.push(task);
        }
        damaged.push(config(4, "http://a.test"));
        damaged[2]["eval"]["program_html"] = json!("document.title");
        damaged.push(config(1, "http://a.test"));
        fs::write(&from, json!(damaged).to_string()).expect("written");
        let sites = [("shopping".to_owned(), "http://shop.test".to_owned())].into();
        let options = WebArenaOptions { sites, ..WebArenaOptions::default() };
        let done = add(&from, &place.path().join("suite"), &options).expect("made");
        assert_eq!(done.tasks, 1);
        let reasons: Vec<&String> = done.left_out.keys().collect();
        assert_eq!(reasons.len(), 3, "{reasons:?}");
        for (one, part) in reasons.iter().zip(["locator", "url", "no list"]) {
            assert!(one.contains("program_html") && one.contains(part), "{one}");
        }
    }
}
