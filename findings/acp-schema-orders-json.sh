#!/usr/bin/env bash
# A crate with the messages of the Agent Client Protocol, and the JSON of the program that depends on it.
#
# Expected: a crate of message types changes the JSON of its own messages and no other. `serde_json::Value` sorts the names of an
#           object, and a program that hashes, signs or compares what it writes may rely on that.
# Happens:  with the dependency in Cargo.toml alone, without one line that uses it, `serde_json::json!({"b": 1, "a": 2})` is written
#           as {"b":1,"a":2} and no longer as {"a":2,"b":1}, in every crate of the program: the schema crate asks for the feature
#           `preserve_order` of serde_json, and Cargo gives one build of a crate the features of all who depend on it. Neither its
#           README nor its source says so, and the names of a JSON-RPC message have no order. Hashes of JSON that were stored before no longer match.
# Source:   agent-client-protocol-schema's Cargo.toml, [dependencies.serde_json]; "Feature unification" in Cargo's book.
# Versions: agent-client-protocol-schema 1.20.0, serde_json 1.0.151, cargo 1.95.0, seen 2026-11-29.
set -euo pipefail
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder/src" && cd "$folder"
cat >src/main.rs <<'RUST'
fn main() {
    println!("{}", serde_json::json!({"b": 1, "a": 2}));
}
RUST
written() {
  printf '[package]\nname = "order"\nversion = "0.0.0"\nedition = "2024"\n[dependencies]\nserde_json = "=1.0.151"\n%s\n' "$1" >Cargo.toml
  cargo run --quiet
}
plain=$(written '') beside=$(written 'agent-client-protocol-schema = "=1.20.0"')
printf 'serde_json alone                        %s\nagent-client-protocol-schema beside it  %s\n' "$plain" "$beside"
[ "$plain" = '{"a":2,"b":1}' ] && [ "$beside" = '{"b":1,"a":2}' ] || { echo "this has changed"; exit 1; }
