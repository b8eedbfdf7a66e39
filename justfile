# Lists the recipes.
default:
    @just --list

fmt:
    cargo fmt --all

lint:
    cargo clippy --all-targets -- -D warnings

test *args:
    cargo test {{args}}

# Tests one crate after an edit; a filter narrows it down: `just crate tasks metric::`.
crate name *filter:
    cargo test --package apprentice-{{name}} --lib {{filter}}

# Looks for unused dependencies, and holds licences, sources and versions to deny.toml.
deps:
    test -x target/tools/bin/cargo-machete || cargo install --locked --debug --root target/tools cargo-machete@0.9.2
    target/tools/bin/cargo-machete crates
    cargo test --locked --package apprentice-cli --test it -- dependencies::

# Measures worlds beside the programs that they are compared with, and writes docs/benchmarks.md.
bench:
    scripts/bench

# Random faults in the midst of trials; the seed is printed: `just chaos 100 SEED`.
chaos *args:
    cargo test --package apprentice-harness --bench chaos -- {{args}}

# Two thousand trials in one process, some in cells: memory, descriptors, processes, mounts and folders stay as they were.
soak:
    cargo test --package apprentice-harness --test it -- --ignored --nocapture soak::

# Two hundred workers, five thousand trials, and faults, over a PostgreSQL of the test's own. Prints how fast the queue is.
fleet:
    cargo test --package apprentice-fleet -- --include-ignored --nocapture --test-threads 1 --skip child::

ci:
    .ci/run

# Builds the program as it is shipped, and prints its size.
release:
    scripts/release
