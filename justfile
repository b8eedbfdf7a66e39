# Lists the recipes.
default:
    @just --list

fmt:
    cargo fmt --all

lint:
    cargo clippy --all-targets -- -D warnings

test *args:
    cargo test {{args}}

# Tests one crate after an edit; a filter narrows it down: `just crate metrics family::`.
crate name *filter:
    cargo test --package apprentice-{{name}} --lib {{filter}}

# Looks for unused dependencies, and holds licences, sources and versions to deny.toml.
deps:
    test -x target/tools/bin/cargo-machete || cargo install --locked --debug --root target/tools cargo-machete@0.9.2
    target/tools/bin/cargo-machete crates
    cargo test --locked --package apprentice-cli --test it -- dependencies::

# Measures worlds beside the programs that they are compared with, and writes docs/benchmarks.md.
bench:
    scripts/bench/worlds

# Has a browser world use widgets of real libraries at their newest versions, and prints what was seen, done and answered.
widgets *args:
    scripts/conformance/widgets {{args}}

# Has desktops use other people's programs, and prints what was listed, hit, typed and covered: `just programs lane`, `just programs kcalc`.
programs *args:
    scripts/conformance/programs target/debug/apprentice {{args}}

# Measures a helpful, a useless and a harmful skill with a model that is served already: `just planted-skills MODEL URL OUT`.
planted-skills *args:
    scripts/conformance/planted-skills {{args}}

# Looks in today's programs for what the shipped skillbook names, and says which page no longer holds: `just book-check mousepad`.
book-check *domains:
    scripts/book/check-shipped target/debug/apprentice {{domains}}

# How fast logs of other programs are read, beside Python's json: `just bench-traces target/release/apprentice 64`.
bench-traces *args:
    scripts/bench/traces {{args}}

# Random faults in the midst of trials; the seed is printed: `just chaos 100 SEED`.
chaos *args:
    cargo test --package apprentice-harness --bench chaos -- {{args}}

# Two thousand trials in one process, some in cells: memory, descriptors, processes, mounts and folders stay as they were.
soak:
    cargo test --package apprentice-harness --test it -- --ignored --nocapture soak::

# Changes each threshold, list and comparison of the crates around the skillbook in a copy, and names those that no test notices: `just mutants manage/`.
mutants *args:
    scripts/mutation/skills {{args}}

# Solves OSWorld's tasks in cells, those too that the tests leave out: `just osworld impress`. APPRENTICE_OSWORLD names the suite.
osworld *program:
    APPRENTICE_OSWORLD_TASK= cargo test --locked --package apprentice-cli --test it -- --ignored --nocapture --test-threads 1 offline::tasks_of_{{program}}

# Two hundred workers, five thousand trials, a thousand simulated workers and 300 random faults, over a PostgreSQL and an S3 server of
# the tests' own. Prints how fast the queue is, and the seed of the faults: `FLEET_SEED=N just fleet` repeats them.
fleet:
    scripts/fleet/servers
    cargo test --package apprentice-fleet -- --include-ignored --nocapture --test-threads 1 --skip child::

# Checks the crate of the user's own desktop for macOS and Windows, where nobody has run it. Rustup fetches the targets.
systems:
    rustup target add x86_64-apple-darwin x86_64-pc-windows-msvc
    cargo check --locked --package apprentice-host --target x86_64-apple-darwin
    cargo check --locked --package apprentice-host --target x86_64-pc-windows-msvc

# Notes what was flaky in the last run of scripts/test in .config/flaky.toml, to be committed: what is flaky again fails CI.
flaky-keep:
    scripts/ci/flaky --keep

ci:
    .ci/run

# Builds the program as it is shipped, and prints its size.
release:
    scripts/release/build
