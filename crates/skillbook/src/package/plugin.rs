//! Packages as a plugin of Claude Code: `.claude-plugin/plugin.json` and a folder `skills/`, as its manifest reference has it
//! (code.claude.com, read in November 2026). Only the name is required; what is in standard places need not be named.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{NAME_CAP, Package};

/// The manifest of a plugin.
pub const PLUGIN_FILE: &str = ".claude-plugin/plugin.json";
/// The folder with a plugin's packages.
pub const PLUGIN_SKILLS: &str = "skills/";

/// Returns the files of a plugin, by path.
///
/// # Errors
/// The name is none that a plugin may have.
pub fn plugin(name: &str, packages: &[Package]) -> Result<BTreeMap<String, Vec<u8>>, String> {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let is_name = !name.is_empty()
        && name.len() <= NAME_CAP
        && name.chars().all(fits)
        && !name.starts_with('-')
        && !name.ends_with('-');
    if !is_name {
        return Err(format!("{name:?} is no name of a plugin: lower-case letters, digits and hyphens"));
    }
    let names: Vec<&str> = packages.iter().map(|package| package.name.as_str()).collect();
    let description = format!("Skills: {}", names.join(", "));
    let description: String = description.chars().take(400).collect();
    let manifest: Value = json!({ "name": name, "version": "1.0.0", "description": description });
    let mut files = BTreeMap::from([(PLUGIN_FILE.to_owned(), format!("{manifest:#}\n").into_bytes())]);
    for package in packages {
        for (path, bytes) in &package.files {
            files.insert(format!("{PLUGIN_SKILLS}{}/{path}", package.name), bytes.clone());
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::{Package, plugin};

    #[test]
    fn a_plugin_has_a_manifest_and_its_packages_in_the_standard_place() {
        let files = [("SKILL.md".to_owned(), b"x".to_vec())].into();
        let packages = [Package { name: "sort".into(), files }];
        let made = plugin("office", &packages).expect("a plugin");
        let names: Vec<&str> = made.keys().map(String::as_str).collect();
        assert_eq!(names, [".claude-plugin/plugin.json", "skills/sort/SKILL.md"]);
        for name in ["", "Office", "my office", "-a", "../a"] {
            plugin(name, &packages).expect_err(name);
        }
    }
}
