//! `task.toml` of a Harbor task: every field of its format is honoured, says nothing that changes the task, or is a reason to leave the
//! task out, by its name. Read from harbor 0.26.0, `harbor/models/task/config.py`; it ignores fields that it does not know, so that a
//! later one would be lost without a word.

use std::collections::BTreeMap;

use apprentice_protocol::AllowedHost;
use serde::Deserialize;

/// The fields of each part. Those that [`TaskFile`] lacks change nothing here: who wrote the task and where it is from, what a
/// container's host sets aside for it, how long its image may take, the variables of its solution, and what is kept of a trial for
/// people to look at.
const FIELDS: [(&str, &[&str]); 6] = [
    (
        "",
        &[
            "schema_version",
            "version",
            "task",
            "metadata",
            "source",
            "environment",
            "verifier",
            "agent",
            "solution",
            "steps",
            "multi_step_reward_strategy",
            "artifacts",
        ],
    ),
    ("task", &["name", "version", "description", "authors", "keywords"]),
    ("solution", &["env"]),
    ("agent", &["timeout_sec", "user", "network_mode", "allowed_hosts"]),
    (
        "verifier",
        &[
            "timeout_sec",
            "env",
            "user",
            "environment_mode",
            "environment",
            "collect",
            "network_mode",
            "allowed_hosts",
        ],
    ),
    (
        "environment",
        &[
            "build_timeout_sec",
            "cpus",
            "memory_mb",
            "memory",
            "storage_mb",
            "storage",
            "docker_image",
            "os",
            "gpus",
            "gpu_types",
            "tpu",
            "mcp_servers",
            "env",
            "skills_dir",
            "healthcheck",
            "workdir",
            "allow_internet",
            "network_mode",
            "allowed_hosts",
        ],
    ),
];

/// The parts that matter here.
#[derive(Debug, Default, Deserialize)]
pub(super) struct TaskFile {
    #[serde(default)]
    pub(super) environment: EnvironmentPart,
    #[serde(default)]
    pub(super) verifier: VerifierPart,
    #[serde(default)]
    pub(super) agent: AgentPart,
    #[serde(default)]
    steps: Vec<toml::Value>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct EnvironmentPart {
    docker_image: Option<String>,
    os: Option<String>,
    gpus: Option<i64>,
    tpu: Option<toml::Value>,
    pub(super) workdir: Option<String>,
    /// Variables of all that runs in the world.
    #[serde(default)]
    pub(super) env: BTreeMap<String, String>,
    skills_dir: Option<String>,
    #[serde(default)]
    mcp_servers: Vec<toml::Value>,
    healthcheck: Option<toml::Value>,
    allow_internet: Option<bool>,
    #[serde(flatten)]
    network: NetworkPart,
}

/// Who may reach what. Without a mode an environment is public, and a phase has what its environment has.
#[derive(Debug, Default, Deserialize)]
struct NetworkPart {
    network_mode: Option<String>,
    allowed_hosts: Option<Vec<String>>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct VerifierPart {
    pub(super) timeout_sec: Option<f64>,
    #[serde(default)]
    pub(super) env: BTreeMap<String, String>,
    user: Option<toml::Value>,
    environment_mode: Option<String>,
    environment: Option<toml::Value>,
    #[serde(default)]
    collect: Vec<toml::Value>,
    #[serde(flatten)]
    network: NetworkPart,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct AgentPart {
    pub(super) timeout_sec: Option<f64>,
    user: Option<toml::Value>,
    #[serde(flatten)]
    network: NetworkPart,
}

/// Reads a file; the inner error names a field of another format.
pub(super) fn read(text: &str) -> Result<Result<TaskFile, String>, toml::de::Error> {
    let table: toml::Table = toml::from_str(text)?;
    for (part, known) in FIELDS {
        let fields =
            if part.is_empty() { Some(&table) } else { table.get(part).and_then(toml::Value::as_table) };
        if let Some(unknown) =
            fields.into_iter().flat_map(toml::Table::keys).find(|key| !known.contains(&&***key))
        {
            let place = if part.is_empty() { String::new() } else { format!("[{part}].") };
            return Ok(Err(format!("its task.toml has {place}{unknown}, which Harbor 0.26 does not know")));
        }
    }
    Ok(Ok(toml::from_str(text)?))
}

impl TaskFile {
    /// Says what the file asks for that no cell can give.
    pub(super) fn obstacle(&self) -> Option<String> {
        let Self { environment, verifier, steps, .. } = self;
        let from_outside = |env: &BTreeMap<String, String>| env.values().any(|value| value.contains("${"));
        let separate = verifier.environment_mode.as_deref().is_some_and(|mode| mode != "shared");
        let cases = [
            (!steps.is_empty(), "it has several steps"),
            (environment.docker_image.is_some(), "it starts from a published image"),
            (
                environment.os.as_deref().is_some_and(|os| !os.eq_ignore_ascii_case("linux")),
                "it needs another system than Linux",
            ),
            (
                environment.gpus.is_some_and(|gpus| gpus > 0) || environment.tpu.is_some(),
                "it needs a processor of graphics or tensors ([environment].gpus, tpu)",
            ),
            (!environment.mcp_servers.is_empty(), "it has tool servers of its own"),
            (environment.healthcheck.is_some(), "it waits for a service of its image"),
            (environment.skills_dir.is_some(), "it brings skills of its own ([environment].skills_dir)"),
            (
                separate || verifier.environment.is_some() || !verifier.collect.is_empty(),
                "it is graded in a container of its own",
            ),
            (from_outside(&verifier.env), "its script needs variables from outside, such as keys"),
            (from_outside(&environment.env), "its world needs variables from outside ([environment].env)"),
        ];
        let case = cases.into_iter().find(|(holds, _)| *holds).map(|(_, why)| why.to_owned());
        case.or_else(|| self.other_user()).or_else(|| self.other_network()).or_else(|| self.odd_variable())
    }

    /// A cell has one user, who is not root.
    fn other_user(&self) -> Option<String> {
        let users = [("agent", &self.agent.user), ("verifier", &self.verifier.user)];
        let (part, user) = users.into_iter().find_map(|(part, user)| Some((part, user.as_ref()?)))?;
        Some(format!("it runs as the user {user} ([{part}].user), and a cell has one user of its own"))
    }

    /// A world has the same hosts from its beginning to its end.
    fn other_network(&self) -> Option<String> {
        let own = &self.environment.network;
        let phases = [("agent", &self.agent.network), ("verifier", &self.verifier.network)];
        let changed = |phase: &NetworkPart| {
            phase.network_mode.is_some()
                && (phase.network_mode.as_deref() != Some(self.network_mode())
                    || phase.allowed_hosts.as_deref().unwrap_or_default()
                        != own.allowed_hosts.as_deref().unwrap_or_default())
        };
        if let Some((part, _)) = phases.into_iter().find(|(_, phase)| changed(phase)) {
            return Some(format!("its network changes in the middle ([{part}].network_mode)"));
        }
        match self.network_mode() {
            "public" | "no-network" => None,
            "allowlist" => self.hosts().err(),
            other => {
                Some(format!("[environment].network_mode is {other:?}, which Harbor 0.26 does not know"))
            }
        }
    }

    fn network_mode(&self) -> &str {
        let own = &self.environment;
        match (&own.network.network_mode, own.allow_internet) {
            (Some(mode), _) => mode,
            (None, Some(false)) => "no-network",
            (None, _) => "public",
        }
    }

    /// The hosts that the task's world may reach.
    pub(super) fn hosts(&self) -> Result<Vec<AllowedHost>, String> {
        if self.network_mode() != "allowlist" {
            return Ok(Vec::new());
        }
        let hosts = self.environment.network.allowed_hosts.iter().flatten();
        let read = |host: &String| host.trim().parse();
        hosts
            .map(read)
            .collect::<Result<_, _>>()
            .map_err(|error| format!("[environment].allowed_hosts: {error}"))
    }

    fn odd_variable(&self) -> Option<String> {
        let names = self.environment.env.keys().chain(self.verifier.env.keys());
        let is_name = |name: &str| {
            let mut letters = name.chars();
            letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
                && letters.all(|one| one.is_ascii_alphanumeric() || one == '_')
        };
        let odd = names.into_iter().find(|name| !is_name(name))?;
        Some(format!("a variable has the name {odd:?}, which no shell takes"))
    }
}

#[cfg(test)]
mod tests {
    use super::read;

    fn why(text: &str) -> Option<String> {
        match read(text).expect("TOML") {
            Ok(file) => file.obstacle(),
            Err(why) => Some(why),
        }
    }

    #[test]
    fn every_field_is_taken_or_refused_by_its_name() {
        for taken in [
            "version = \"1.0\"\nsource = \"x\"\nartifacts = [\"/logs\"]\n[metadata]\nanything = { a = 1 }",
            "[task]\nname = \"a/b\"\n[solution.env]\nA = \"1\"",
            "[environment]\nbuild_timeout_sec = 1.0\ncpus = 2\nmemory = \"1G\"\nstorage_mb = 5\ngpus = 0\nos = \"Linux\"",
            "[environment]\nnetwork_mode = \"public\"\n[agent]\nnetwork_mode = \"public\"",
            "[environment]\nallow_internet = false\n[verifier]\nnetwork_mode = \"no-network\"",
            "[verifier]\nenvironment_mode = \"shared\"",
        ] {
            assert_eq!(why(taken), None, "{taken}");
        }
        for (refused, word) in [
            ("colour = 1", "has colour, which"),
            ("[environment]\nnetwork = 1", "has [environment].network, which"),
            ("[agent]\nmodel = 1", "has [agent].model, which"),
            ("[[steps]]\nname = \"a\"", "several steps"),
            ("[environment]\ngpus = 1", "gpus"),
            ("[environment]\nskills_dir = \"/s\"", "skills_dir"),
            ("[environment.env]\nKEY = \"${KEY}\"", "[environment].env"),
            ("[environment.env]\n\"A-B\" = \"1\"", "\"A-B\""),
            ("[agent]\nuser = \"root\"", "\"root\" ([agent].user)"),
            ("[verifier]\nuser = 0", "0 ([verifier].user)"),
            ("[agent]\nnetwork_mode = \"no-network\"", "[agent].network_mode"),
            ("[environment]\nnetwork_mode = \"some\"", "network_mode is \"some\""),
            (
                "[environment]\nnetwork_mode = \"allowlist\"\nallowed_hosts = [\"10.0.0.0/8\"]",
                "allowed_hosts",
            ),
            ("[verifier]\nenvironment_mode = \"separate\"", "container of its own"),
            ("[[verifier.collect]]\ncommand = \"x\"", "container of its own"),
        ] {
            assert!(why(refused).is_some_and(|why| why.contains(word)), "{refused}: {:?}", why(refused));
        }
    }

    #[test]
    fn the_hosts_of_a_list_are_those_of_the_world() {
        let text = "[environment]\nnetwork_mode = \"allowlist\"\nallowed_hosts = [\"example.org\", \"*.example.net\", \"192.0.2.1\"]";
        let file = read(text).expect("TOML").expect("known fields");
        assert_eq!(file.obstacle(), None);
        let hosts: Vec<String> = file.hosts().expect("hosts").iter().map(ToString::to_string).collect();
        assert_eq!(hosts, ["example.org", "*.example.net", "192.0.2.1"]);
    }
}
