//! Functions in a package: one file for each, `functions/NAME.fn`.

use std::collections::BTreeMap;

use super::PackageFinding;
use crate::{check_function, is_function_file};

/// A function of a package that keeps the rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PackageFunction {
    pub(super) name: String,
    pub(super) source: String,
}

/// Returns the functions of a package that keep the rules, and a finding for each that breaks one.
pub(super) fn read_functions(
    files: &BTreeMap<String, Vec<u8>>,
) -> (Vec<PackageFunction>, Vec<PackageFinding>) {
    let (mut found, mut broken) = (Vec::new(), Vec::new());
    for (path, bytes) in files.iter().filter(|(path, _)| is_function_file(path)) {
        let finding = |what: String| PackageFinding {
            path: path.clone(),
            ..PackageFinding::warning("function_refused", what)
        };
        let Ok(source) = std::str::from_utf8(bytes) else {
            broken.push(finding(format!("{path} is no text, and is not taken over")));
            continue;
        };
        match check_function(source, &[]) {
            Ok(checked) => found
                .push(PackageFunction { name: checked.signature().name.clone(), source: source.to_owned() }),
            Err(violations) => {
                let violations_text: Vec<String> = violations.iter().map(ToString::to_string).collect();
                broken.push(finding(format!("{path} is not taken over: {}", violations_text.join("; "))));
            }
        }
    }
    (found, broken)
}
