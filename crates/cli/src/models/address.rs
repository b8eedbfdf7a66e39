//! Addresses of models' servers that name the attempt: by them a trainer's proxy knows which episode a request belongs to.

use apprentice_evaluator::run::AttemptOf;
use apprentice_protocol::did_you_mean;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::failure::{Failure, Kind};

/// What may stand in braces in a `base_url`. The values are those of the attempt's row.
const NAMES: [&str; 5] = ["run", "trial", "attempt", "task", "seed"];
/// Stands for each name where a request belongs to no attempt of a run: what a server serves, a review, `do`.
const NO_ATTEMPT: &str = "-";
/// What a segment of a path holds as it is: RFC 3986's unreserved characters.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Fills in the names of an address.
///
/// # Errors
///
/// Returns an error for a name that no attempt has.
pub(super) fn filled(model: &str, address: &str, attempt: Option<AttemptOf<'_>>) -> Result<String, Failure> {
    let mut filled = String::new();
    let mut rest = address;
    while let Some((before, (name, after))) =
        rest.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?)))
    {
        filled.push_str(before);
        filled.push_str(&value(model, name, attempt)?);
        rest = after;
    }
    Ok(filled + rest)
}

fn value(model: &str, name: &str, attempt: Option<AttemptOf<'_>>) -> Result<String, Failure> {
    if !NAMES.contains(&name) {
        let told = format!("the address of {model} has {{{name}}}{}", did_you_mean(name, NAMES));
        let known = NAMES.map(|name| format!("{{{name}}}")).join(", ");
        return Err(Failure::say(Kind::Config, told).hint(format!("what it may name of an attempt: {known}")));
    }
    let Some(AttemptOf { run, trial, attempt }) = attempt else { return Ok(NO_ATTEMPT.to_owned()) };
    let value = match name {
        "run" => run.to_string(),
        "trial" => trial.trial.to_string(),
        "attempt" => attempt.to_string(),
        "task" => trial.task.to_string(),
        _ => trial.seed.to_string(),
    };
    Ok(utf8_percent_encode(&value, SEGMENT).to_string())
}

#[cfg(test)]
mod tests {
    use super::filled;

    #[test]
    fn an_address_names_what_an_attempt_has_and_nothing_else() {
        let check = |address: &str| filled("compat/m", address, None).map_err(|failure| failure.to_string());
        assert_eq!(check("http://x/v1").as_deref(), Ok("http://x/v1"));
        assert_eq!(check("http://x/{run}/{trial}-{attempt}/v1").as_deref(), Ok("http://x/-/---/v1"));
        assert_eq!(check("http://x/{run/v1").as_deref(), Ok("http://x/{run/v1"));
        let told = check("http://x/{tasks}/v1").expect_err("is unknown");
        assert!(told.contains("the address of compat/m has {tasks}"), "{told}");
    }
}
