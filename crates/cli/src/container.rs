//! Which container this process runs in, by what its engine leaves there.
//!
//! Sources: Docker and Podman leave a file; Podman, LXC and systemd set the variable `container`; gVisor answers one fixed kernel
//! version (`pkg/sentry/kernel`); `MODAL_TASK_ID` (modal.com/docs/guide/environment_variables), `E2B_SANDBOX`
//! (e2b.dev/docs/sandbox/environment-variables) and `KUBERNETES_SERVICE_HOST` are documented. Read on 2026-11-29.

use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use crate::process_env;

/// The engine of a container.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Engine {
    /// Docker.
    Docker,
    /// Podman.
    Podman,
    /// A pod of Kubernetes, whatever its runtime.
    Kubernetes,
    /// gVisor, under any of the others.
    Gvisor,
    /// Modal, which runs on gVisor.
    Modal,
    /// E2B, a virtual machine.
    E2b,
    /// Another, by the name that it gives itself.
    Other(String),
}

/// The kernel's version by which gVisor is known; the same in all releases.
const GVISOR_BUILD: &str = "#1 SMP Sun Jan 10 15:06:54 PST 2016";

impl Engine {
    /// The engine of the container that this process runs in, if it runs in one.
    pub(crate) fn of_this_process() -> Option<Self> {
        let text = |name: &str| process_env::variable(name).and_then(|value| value.into_string().ok());
        Self::of(&Marks {
            dockerenv: Path::new("/.dockerenv").exists(),
            containerenv: Path::new("/run/.containerenv").exists(),
            variable: text("container"),
            kernel: std::fs::read_to_string("/proc/version").unwrap_or_default(),
            modal: text("MODAL_TASK_ID").is_some(),
            e2b: text("E2B_SANDBOX").is_some_and(|value| value == "true") || Path::new("/run/e2b").is_dir(),
            kubernetes: text("KUBERNETES_SERVICE_HOST").is_some(),
        })
    }

    /// Decides from the marks of a container. The innermost name counts: what a platform says of itself before what it stands on.
    pub(crate) fn of(marks: &Marks) -> Option<Self> {
        let named = marks.variable.as_deref().filter(|name| !name.is_empty());
        if marks.modal {
            Some(Self::Modal)
        } else if marks.e2b {
            Some(Self::E2b)
        } else if marks.kernel.contains(GVISOR_BUILD) {
            Some(Self::Gvisor)
        } else if marks.kubernetes {
            Some(Self::Kubernetes)
        } else if named == Some("podman") || (named.is_none() && marks.containerenv) {
            Some(Self::Podman)
        } else if named == Some("docker") || (named.is_none() && marks.dockerenv) {
            Some(Self::Docker)
        } else {
            named.map(|name| Self::Other(name.to_owned()))
        }
    }

    /// Its name in a sentence.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Docker => "Docker",
            Self::Podman => "Podman",
            Self::Kubernetes => "Kubernetes",
            Self::Gvisor => "gVisor",
            Self::Modal => "Modal",
            Self::E2b => "E2B",
            Self::Other(name) => name,
        }
    }

    /// How a container of this engine is allowed to start cells.
    pub(crate) fn rights(&self) -> String {
        match self {
            Self::Docker => "start the container with `docker run --security-opt seccomp=unconfined --security-opt \
                             apparmor=unconfined --security-opt systempaths=unconfined`"
                .to_owned(),
            Self::Podman => "start the container with `podman run --security-opt seccomp=unconfined --security-opt \
                             label=disable --security-opt unmask=ALL`"
                .to_owned(),
            Self::Kubernetes => "give the pod `securityContext: {seccompProfile: {type: Unconfined}, \
                                 appArmorProfile: {type: Unconfined}, procMount: Unmasked}`; procMount needs `hostUsers: false`"
                .to_owned(),
            Self::Gvisor | Self::Modal | Self::E2b | Self::Other(_) => format!(
                "this runs in a container ({}): have it allow user namespaces, mounts in them, and a /proc without \
                 masked parts",
                self.name()
            ),
        }
    }
}

/// What a container's engine leaves inside of it.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    /// Whether `/.dockerenv` exists.
    pub(crate) dockerenv: bool,
    /// Whether `/run/.containerenv` exists.
    pub(crate) containerenv: bool,
    /// The variable `container`, which Podman, LXC and systemd set.
    pub(crate) variable: Option<String>,
    /// The text of `/proc/version`.
    pub(crate) kernel: String,
    /// Whether Modal named its task.
    pub(crate) modal: bool,
    /// Whether E2B named itself.
    pub(crate) e2b: bool,
    /// Whether Kubernetes named its server.
    pub(crate) kubernetes: bool,
}

#[cfg(test)]
mod tests {
    use super::{Engine, Marks};

    #[test]
    fn a_container_is_known_by_what_its_engine_leaves() {
        let marks = |dockerenv, containerenv, variable: Option<&str>| Marks {
            dockerenv,
            containerenv,
            variable: variable.map(str::to_owned),
            ..Marks::default()
        };
        let of = |dockerenv, containerenv, variable| Engine::of(&marks(dockerenv, containerenv, variable));
        assert_eq!(of(false, false, None), None);
        assert_eq!(of(false, false, Some("")), None);
        assert_eq!(of(true, false, None), Some(Engine::Docker));
        assert_eq!(of(false, true, None), Some(Engine::Podman));
        assert_eq!(of(false, true, Some("podman")), Some(Engine::Podman));
        assert_eq!(of(false, false, Some("lxc")), Some(Engine::Other("lxc".into())));
        let docker = || marks(true, false, None);
        let gvisor = "Linux version 4.19.0-gvisor #1 SMP Sun Jan 10 15:06:54 PST 2016".to_owned();
        assert_eq!(Engine::of(&Marks { kernel: gvisor.clone(), ..docker() }), Some(Engine::Gvisor));
        assert_eq!(Engine::of(&Marks { kernel: gvisor, modal: true, ..docker() }), Some(Engine::Modal));
        assert_eq!(Engine::of(&Marks { e2b: true, ..docker() }), Some(Engine::E2b));
        assert_eq!(Engine::of(&Marks { kubernetes: true, ..docker() }), Some(Engine::Kubernetes));
        assert!(Engine::Docker.rights().contains("systempaths=unconfined"));
        assert!(Engine::Podman.rights().contains("unmask=ALL"));
        assert!(Engine::Other("lxc".into()).rights().contains("(lxc)"));
    }
}
