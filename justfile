# Lists the recipes.
default:
    @just --list

fmt:
    cargo fmt --all

lint:
    cargo clippy --all-targets -- -D warnings

test *args:
    cargo test {{args}}

# Looks for unused dependencies, and holds licences, sources and versions to deny.toml.
deps:
    test -x target/tools/bin/cargo-machete || cargo install --locked --debug --root target/tools cargo-machete@0.9.2
    target/tools/bin/cargo-machete crates
    cargo test --locked --package apprentice-cli --test it -- dependencies::

ci:
    .ci/run
