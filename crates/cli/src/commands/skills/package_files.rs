//! The files of skill packages: which files count, and how many and how large they may be.

use std::path::Path;

use apprentice_skillbook::package::SKILL_FILE;

/// The largest number of files in a package.
pub(super) const MOST_FILES: usize = 1000;
/// The largest size of a package, in bytes.
pub(super) const MOST_BYTES: u64 = 10_000_000;
/// Files and folders that contain no skills.
const PASSED_OVER: [&str; 6] = [".git", "node_modules", "__pycache__", "target", "__MACOSX", ".DS_Store"];

/// Whether a file or folder is skipped.
pub(super) fn is_passed_over(path: &Path) -> bool {
    PASSED_OVER.iter().any(|name| path.ends_with(name))
}

/// Whether a file is a skill file, which makes its folder a package.
pub(super) fn is_skill_file(path: &Path) -> bool {
    [SKILL_FILE, "skill.md"].iter().any(|name| path.ends_with(name))
}
