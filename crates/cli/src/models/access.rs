//! What a provider lets a request in by: a key, or tokens that expire, and headers of the user's own.

use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use apprentice_models::http::{AwsKeys, Endpoint, ExtraHeaders, Secret, TokenSource};
use apprentice_protocol::{BoxFuture, Clock, ModelError, ModelErrorKind, Retry};
use tokio::process::Command;
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::terminal;

/// How long a printed token is used. Google's live for an hour, and a command may print one that has lived already.
const FRESH: Duration = Duration::from_secs(300);
/// Time limit of the command.
const DEADLINE: Duration = Duration::from_secs(60);

/// Credentials and headers of one provider.
#[derive(Clone, Default)]
pub(crate) struct Access {
    /// The key, if there is one.
    pub(crate) key: Option<Secret>,
    /// Tokens in place of a key.
    pub(crate) tokens: Option<Arc<CommandTokens>>,
    /// Keys that sign requests, where there is no other key.
    pub(crate) aws: Option<AwsKeys>,
    /// Headers to add to every request.
    pub(crate) headers: ExtraHeaders,
}

impl Access {
    /// Returns the key or the present token.
    pub(crate) fn secret(&self) -> Option<Secret> {
        let token = self.tokens.as_ref().and_then(|tokens| Some(tokens.present.try_lock().ok()?.0.clone()));
        token.or_else(|| self.key.clone()).or_else(|| Some(self.aws.as_ref()?.secret_key.clone()))
    }

    /// Adds the credentials to an address.
    pub(crate) fn endpoint(&self, base_url: &str) -> Endpoint {
        let endpoint = Endpoint::new(base_url, self.key.clone());
        match (&self.tokens, &self.aws) {
            (Some(tokens), _) => endpoint.with_tokens(Arc::<CommandTokens>::clone(tokens)),
            (None, Some(keys)) => endpoint.signed_by(keys.clone()),
            (None, None) => endpoint,
        }
    }
}

/// Returns the access keys of Amazon's own variables, if they are there.
pub(crate) fn aws_keys(variable: &dyn Fn(&str) -> Option<String>, region: &str) -> Option<AwsKeys> {
    let find =
        |name: &str| variable(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
    Some(AwsKeys {
        access_key: find("AWS_ACCESS_KEY_ID")?,
        secret_key: Secret::new(find("AWS_SECRET_ACCESS_KEY")?),
        session_token: find("AWS_SESSION_TOKEN").map(Secret::new),
        region: region.to_owned(),
    })
}

/// Tokens that a shell command prints.
pub(crate) struct CommandTokens {
    command: String,
    clock: Arc<dyn Clock>,
    /// The latest token, and when it was printed.
    present: Mutex<(Secret, Duration)>,
}

impl CommandTokens {
    /// Starts with a token that was printed just now.
    pub(crate) fn new(command: &str, first: Secret, clock: Arc<dyn Clock>) -> Self {
        let present = Mutex::new((first, clock.mono()));
        Self { command: command.to_owned(), clock, present }
    }

    async fn fresh(&self) -> Result<Secret, ModelError> {
        let mut present = self.present.lock().await;
        let now = self.clock.mono();
        if now.saturating_sub(present.1) >= FRESH {
            *present = (printed(&self.command).await?, now);
            terminal::hide(present.0.reveal());
        }
        Ok(present.0.clone())
    }
}

impl TokenSource for CommandTokens {
    fn token(&self) -> BoxFuture<'_, Result<Secret, ModelError>> {
        Box::pin(self.fresh())
    }
}

async fn printed(command: &str) -> Result<Secret, ModelError> {
    let failed = |why: String| {
        let message = format!("token_command {why}");
        ModelError { fault: ModelErrorKind::Unavailable, retry: Retry::Now, message }
    };
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).stdin(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    let output = timeout(DEADLINE, shell.output()).await;
    let output = output.map_err(|_| failed(format!("did not end within {} s", DEADLINE.as_secs())))?;
    let output = output.map_err(|error| failed(format!("could not be started: {error}")))?;
    let token = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    match output.status.success() && !token.is_empty() {
        true => Ok(Secret::new(token)),
        false => Err(failed(format!("printed no token ({})", output.status))),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use apprentice_models::http::{Secret, TokenSource as _};
    use apprentice_protocol::{Clock as _, VirtualClock, Why};

    use super::{CommandTokens, FRESH};

    #[tokio::test]
    async fn a_token_is_printed_again_when_it_is_old_and_never_kept_when_that_fails() {
        let clock = Arc::new(VirtualClock::default());
        let tokens = CommandTokens::new("echo second", Secret::new("first"), clock.clone());
        clock.pause(FRESH - Duration::from_secs(1), Why::Backoff).await;
        assert_eq!(tokens.token().await.expect("a token").reveal(), "first");
        clock.pause(Duration::from_secs(1), Why::Backoff).await;
        assert_eq!(tokens.token().await.expect("a token").reveal(), "second");
        for command in ["exit 1", "true", "echo half; exit 3"] {
            let tokens = CommandTokens::new(command, Secret::new("first"), clock.clone());
            clock.pause(FRESH, Why::Backoff).await;
            let error = tokens.token().await.expect_err(command);
            assert!(error.message.starts_with("token_command printed no token"), "{error}");
        }
    }
}
