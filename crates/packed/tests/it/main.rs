//! Packing and unpacking.

use std::fs;
use std::path::Path;

use apprentice_packed::{pack, unpack_text};

#[test]
fn parts_come_back_as_one_text() {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("packed");
    fs::create_dir_all(&place).expect("a folder");
    fs::write(place.join("a"), "ä\n".repeat(1000)).expect("written");
    fs::write(place.join("b"), "b").expect("written");
    let to = place.join("a-and-b.zz");
    pack(&place, &["a", "b"], &to).expect("packed");
    let packed = fs::read(&to).expect("a file");
    assert!(packed.len() < 100, "{} bytes", packed.len());
    assert_eq!(unpack_text(&packed), "ä\n".repeat(1000) + "b");
    let missing = pack(&place, &["c"], &to).expect_err("no such part").to_string();
    assert!(missing.contains("/c: "), "{missing}");
}
