//! Scripts that a model runs in a page, where the settings allow it: bounded in time and in the size of their result.

use std::time::Duration;

use apprentice_cdp::domain::runtime::{Evaluate, TerminateExecution};
use serde_json::json;

use super::address::brings_page;
use super::driver::{ActionError, Browser};

const RUN: &str = include_str!("page/run.js");

/// Time limit of a script, with what it awaits.
const SCRIPT: Duration = Duration::from_secs(10);
const SCRIPT_MS: u32 = 10_000;
/// Limit of a result, in UTF-16 units: what the page sends at most.
const RESULT_LIMIT: u32 = 20_000;

/// Whether models may run scripts in pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PageScripts {
    /// Scripts are refused.
    #[default]
    Off,
    /// Scripts are run.
    On,
}

impl PageScripts {
    /// Refuses a model's address that would run a script of its own.
    pub(super) fn allow(self, address: &str) -> Result<(), ActionError> {
        if self == Self::On || !brings_page(address) {
            return Ok(());
        }
        Err(ActionError::refused(
            "an address that holds a page of its own could run scripts, and those are off: the setting \
             `page_scripts = \"on\"` allows them",
        ))
    }
}

impl Browser {
    /// Runs a script in the active tab's document and returns the value of its last expression as text.
    pub(super) async fn script(&self, source: &str, allowed: PageScripts) -> Result<String, ActionError> {
        if allowed == PageScripts::Off {
            return Err(ActionError::refused(
                "scripts are off: the setting `page_scripts = \"on\"` allows them; use the page itself",
            ));
        }
        let session = self.session(&self.front()?.session).within(SCRIPT * 2);
        let evaluate = Evaluate {
            expression: format!("({RUN})({}, {RESULT_LIMIT})", json!(source)),
            await_promise: true,
            return_by_value: true,
            timeout: Some(SCRIPT_MS),
        };
        let late = || ActionError::refused(format!("the script did not end within {} s", SCRIPT.as_secs()));
        let Ok(done) = tokio::time::timeout(SCRIPT, self.call(&session, &evaluate)).await else {
            session.post(&TerminateExecution::default());
            return Err(late());
        };
        match done {
            Ok(done) => done.read().map_err(|error| ActionError::refused(error.to_string())),
            // This is how the browser reports a script that it ended.
            Err(ActionError::Replaced(why)) if why.contains("terminated") => Err(late()),
            Err(other) => Err(other),
        }
    }
}
