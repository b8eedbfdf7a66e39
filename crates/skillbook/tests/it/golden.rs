//! Books that earlier versions wrote still open.

use apprentice_skillbook::OpenReport;

use crate::shelf::{Shelf, tree};

/// A book that an earlier version wrote. Never regenerate it: a failure to open it breaks compatibility.
fn golden() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/golden/book-1")
}

#[test]
fn a_book_of_the_first_version_still_opens() {
    let shelf = Shelf::new();
    for (path, bytes) in tree(&golden()) {
        shelf.edit(&path, &String::from_utf8(bytes).expect("text"));
    }
    let before = tree(shelf.path());
    let book = shelf.snapshot().clean().expect("nothing pending");
    assert_eq!(book.problems(), []);
    let skills: Vec<(String, u32)> =
        book.skills().map(|skill| (skill.id.to_string(), skill.version)).collect();
    insta::assert_debug_snapshot!((skills, book.last(), book.content_hash(), book.log_hash()));
    let (_, opened) = shelf.open();
    assert_eq!(opened, OpenReport::default());
    assert_eq!(tree(shelf.path()), before, "opening writes nothing");
}
