# Lists the recipes.
default:
    @just --list

fmt:
    cargo fmt --all

lint:
    cargo clippy --all-targets -- -D warnings

test *args:
    cargo test {{args}}

ci:
    .ci/run
