//! Prints what each way of judging without a reader costs, for the tables of `docs/security.md`: of texts in files (lines of JSON
//! with `kind`, `title`, `description` and `body`, and `language` where it is told), how many wait.
//! `without_a_reader FILE...`.
#![expect(clippy::print_stdout, reason = "an example prints")]

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;

use apprentice_screening::effect::{Passage, apply_rules, orders_beyond};
use serde_json::Value;

#[derive(Default)]
struct Count {
    of: usize,
    sieve: usize,
    with_orders: usize,
}

fn main() -> Result<(), Box<dyn Error>> {
    for file in std::env::args().skip(1) {
        let mut counts: BTreeMap<String, Count> = BTreeMap::new();
        for line in String::from_utf8(apprentice_files::read(Path::new(&file))?)?.lines() {
            let case: Value = serde_json::from_str(line)?;
            let field = |name: &str| case[name].as_str().unwrap_or_default();
            let passages = [("name", "title"), ("description", "description"), ("guidance", "body")]
                .map(|(name, of)| Passage::new(name, field(of)));
            let sieve = !apply_rules(&passages).is_empty();
            let with_orders = sieve || !orders_beyond(&passages).is_empty();
            for of in ["all", field("language")].into_iter().filter(|of| !of.is_empty()) {
                let count = counts.entry(format!("{} {of}", field("kind"))).or_default();
                count.of += 1;
                count.sieve += usize::from(sieve);
                count.with_orders += usize::from(with_orders);
            }
        }
        println!("{file}");
        for (of, Count { of: all, sieve, with_orders }) in counts {
            println!("  {of}: of {all}, {sieve} wait by words of harm, {with_orders} with orders beyond");
        }
    }
    Ok(())
}
