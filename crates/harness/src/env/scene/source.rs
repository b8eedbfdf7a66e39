//! Opens scenes, and implements [`Environment`] for them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use apprentice_protocol::{
    ActReport, Action, BoxFuture, Capability, Environment, EnvironmentSource, Isolation, MachineInfo,
    Observation, ScreenPoint, Want, World, WorldError, WorldErrorKind, WorldSpec,
};

use super::definition::{Effect, FaultPlace, Scene};
use super::machine::{SceneMachine, Shared};
use super::scene_state::SceneState;

/// Opens in-memory worlds from the `scene` of a [`WorldSpec`].
#[derive(Debug, Default)]
pub struct SceneSource {
    opened: Mutex<BTreeMap<String, u32>>,
}

impl SceneSource {
    /// Returns how many worlds of this scene were opened before, and counts this one.
    fn count(&self, spec: &WorldSpec) -> u32 {
        let key = spec.scene.as_ref().map_or_else(String::new, ToString::to_string);
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        let count = opened.entry(key).or_default();
        *count += 1;
        *count - 1
    }
}

impl EnvironmentSource for SceneSource {
    fn open<'a>(&'a self, spec: &'a WorldSpec) -> BoxFuture<'a, Result<World, WorldError>> {
        Box::pin(async move {
            let size = spec.only_monitor()?;
            let before = self.count(spec);
            let mut scene = read_scene(spec).map_err(|why| WorldError::new(WorldErrorKind::Start, why))?;
            scene.faults.retain(|fault| fault.first_worlds.is_none_or(|first| before < first));
            let faults = scene.faults.clone();
            let shared = Arc::new(Shared::new(SceneState::new(scene, size), faults));
            shared.raise_due_fault(FaultPlace::Open).await?;
            let capabilities =
                [Capability::Files, Capability::Tree, Capability::Screenshots, Capability::Windows];
            let offers = MachineInfo {
                capabilities: BTreeSet::from(capabilities),
                home: "/home/user".into(),
                screen: Some(size),
            };
            Ok(World {
                environment: Box::new(SceneEnvironment { shared: shared.clone() }),
                machine: Arc::new(SceneMachine { shared, offers }),
                isolation: Isolation::Memory,
            })
        })
    }
}

/// Reads a scene and checks that all pages named by effects exist.
fn read_scene(spec: &WorldSpec) -> Result<Scene, String> {
    let Some(value) = &spec.scene else {
        return Err("a scene world needs its definition in \"scene\"".into());
    };
    let scene: Scene =
        serde_json::from_value(value.clone()).map_err(|error| format!("the scene is not valid: {error}"))?;
    let mut named = vec![&scene.start];
    for page in scene.pages.values() {
        page.keys.values().for_each(|effects| pages_named(effects, &mut named));
        let mut controls: Vec<_> = page.controls.iter().collect();
        while let Some(control) = controls.pop() {
            for effects in [&control.click, &control.double_click, &control.enter] {
                pages_named(effects, &mut named);
            }
            controls.extend(control.items.iter().chain(&control.context));
        }
    }
    match named.into_iter().find(|name| !scene.pages.contains_key(*name)) {
        Some(name) => Err(format!("the scene has no page {name:?}")),
        None => Ok(scene),
    }
}

fn pages_named<'s>(effects: &'s [Effect], named: &mut Vec<&'s String>) {
    for effect in effects {
        match effect {
            Effect::Go(page) => named.push(page),
            Effect::When { then, .. } => pages_named(then, named),
            Effect::Set(_) | Effect::Copy(_) | Effect::Toggle(_) | Effect::Write(_) | Effect::Say(_) => {}
        }
    }
}

/// A scene as an agent sees it.
struct SceneEnvironment {
    shared: Arc<Shared>,
}

impl Environment for SceneEnvironment {
    fn observe(&mut self, want: Want) -> BoxFuture<'_, Result<Observation, WorldError>> {
        Box::pin(async move {
            self.shared.raise_due_fault(FaultPlace::Observe).await?;
            let picture = want.screenshot.then(|| self.shared.picture()).transpose();
            Ok(Observation {
                screenshot: picture.map_err(|why| WorldError::new(WorldErrorKind::Lost, why))?,
                tree: want.tree.map(|_| self.shared.with(SceneState::tree)),
                windows: self.shared.windows(),
                ..Observation::default()
            })
        })
    }

    fn act<'a>(
        &'a mut self,
        action: &'a Action<ScreenPoint>,
    ) -> BoxFuture<'a, Result<ActReport, WorldError>> {
        Box::pin(async move {
            self.shared.raise_due_fault(FaultPlace::Act).await?;
            Ok(self.shared.with(|stage| stage.act(action)))
        })
    }

    fn close(self: Box<Self>, deadline: Duration) -> BoxFuture<'static, Result<(), WorldError>> {
        Box::pin(async move {
            let closing = self.shared.raise_due_fault(FaultPlace::Close);
            tokio::time::timeout(deadline, closing).await.unwrap_or_else(|_| {
                Err(WorldError::new(WorldErrorKind::Lost, "the scene did not close in time"))
            })
        })
    }
}
