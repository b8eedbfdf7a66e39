//! The guidance that each arm shows to a student: the first requests of one trial differ in the guidance and in
//! nothing else.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use apprentice_evaluator::experiment::Experiment;
use apprentice_evaluator::run::{ModelSource, TrialSpec};
use apprentice_policies::{BuiltInModel, Policy};
use apprentice_protocol::{
    BoxFuture, ChatModel, ChatReply, ChatRequest, Message, ModelError, ModelProfile, TaskId,
};
use apprentice_results::arm::Arm;
use apprentice_runs::row::{Role, Split};
use tempfile::TempDir;

use crate::experiment::{TRAIN, experiment, learned, work_with};

/// The first request of each of a student's trials, by arm and task.
type Heard = Arc<Mutex<BTreeMap<(String, String), ChatRequest>>>;

#[derive(Default)]
struct Listening {
    heard: Heard,
}

/// A built-in model that records its first request.
struct Ear {
    model: BuiltInModel,
    key: Option<(String, String)>,
    heard: Heard,
}

impl ModelSource for Listening {
    fn model(&self, trial: &TrialSpec) -> Result<Arc<dyn ChatModel>, String> {
        let policy = Policy::named(&trial.model).ok_or("no such model")?;
        let student = trial.role == Role::Student && trial.split == Some(Split::Test);
        let key = student.then(|| (trial.arm.clone(), trial.task.to_string()));
        Ok(Arc::new(Ear { model: BuiltInModel::new(policy), key, heard: self.heard.clone() }))
    }
}

impl ChatModel for Ear {
    fn profile(&self) -> &ModelProfile {
        self.model.profile()
    }

    fn reply<'a>(&'a self, request: &'a ChatRequest) -> BoxFuture<'a, Result<ChatReply, ModelError>> {
        if let Some(key) = &self.key {
            let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
            heard.entry(key.clone()).or_insert_with(|| request.clone());
        }
        self.model.reply(request)
    }
}

/// Removes the guidance from a request, and returns whether there was any.
fn without_guidance(mut request: ChatRequest, own: &ChatRequest) -> (ChatRequest, bool) {
    let tools = request.tools.len();
    request.tools.retain(|tool| own.tools.contains(tool));
    let mut provided = request.tools.len() < tools;
    if let Some(Message::User { content }) = request.messages.first_mut() {
        let parts = content.len();
        content.retain(|part| part.as_text().is_none_or(|text| !text.starts_with("<advice>")));
        provided |= content.len() < parts;
    }
    (request, provided)
}

#[tokio::test]
async fn the_first_requests_of_all_arms_differ_in_the_guidance_alone() {
    let folder = TempDir::new().expect("a folder");
    let listening = Arc::new(Listening::default());
    // One test task of each program.
    let tasks = TRAIN.iter().chain(&["jug", "renew"]).map(|id| TaskId::new(*id)).collect();
    // `auto` needs dev tasks to choose by, and stands for another arm.
    let arms: Vec<Arm> = Arm::ALL.into_iter().filter(|arm| *arm != Arm::Auto).collect();
    let wanted = Experiment {
        arms: arms.clone(),
        tasks: Some(tasks),
        teacher: None,
        seeds: 1,
        ..experiment(learned())
    };
    let outcome = work_with(&wanted, folder.path(), None, listening.clone()).await.expect("works");
    let heard = listening.heard.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let measured: BTreeSet<&str> = heard.keys().map(|(arm, _)| arm.as_str()).collect();
    for arm in arms.iter().map(|arm| arm.as_str()) {
        let eligible = outcome.report.eligible.iter().find(|one| one.arm == arm).expect("every arm is told");
        assert_eq!(measured.contains(arm), eligible.templates > 0, "{arm}");
    }
    // No skill was verified on another template, and none has functions.
    let not_run: Vec<Arm> = arms.into_iter().filter(|arm| !measured.contains(arm.as_str())).collect();
    assert_eq!(not_run, [Arm::Verified, Arm::Code, Arm::CodePull]);
    for ((arm, task), request) in &heard {
        let own = &heard[&("none".to_owned(), task.clone())];
        let (rest, provided) = without_guidance(request.clone(), own);
        assert_eq!(&rest, own, "{arm} on {task}");
        // `pull` read no skill here, so there is nothing to inline.
        assert!(provided || matches!(arm.as_str(), "none" | "inline"), "{arm} on {task} provides nothing");
    }
}
