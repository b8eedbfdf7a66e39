#!/usr/bin/env bash
# A container with OSWorld's machine for each attempt, by Docker or Podman, with the settings of OSWorld's own provider.
#
#   docker pull docker.io/happysixd/osworld-docker
#   VM_RUN=tuesday VM_DISK=/images/Ubuntu.qcow2 apprentice run SUITE --world vm --vm-reset 'deploy/vm/docker.sh reset'
#
# `docker.sh clear` removes what an interrupted run left.
#
#   VM_RUN     a word for this run
#   VM_DISK    OSWorld's image; it is mounted read-only, and the container writes to an overlay of its own
#   VM_ENGINE  docker (default) or podman
#   VM_IMAGE   the container's image (docker.io/happysixd/osworld-docker); it must be there already
#   VM_PORTS   ports of slot 0, SERVER:BROWSER:SCREEN:PLAYER (5000:9222:8006:8080); slot N has each N higher
#   VM_HOST    the address that the ports are published at (127.0.0.1); whoever reaches it commands the machine
#   VM_ACCEL   kvm (default), or tcg without /dev/kvm, about ten times as slow
#   VM_DISK_SIZE, VM_RAM, VM_CPUS   32G, 4G, 4
set -euo pipefail
verb=${1:-}
# shellcheck source=deploy/vm/common.sh
. "$(dirname "$0")/common.sh"
begin reset release clear
run_name
engine=${VM_ENGINE:-docker}
[[ $engine = docker || $engine = podman ]] || fail "VM_ENGINE is '$engine': docker or podman"
tool "$engine" "install Docker or Podman, and name it by VM_ENGINE"

# remove LABEL: the containers, with the volumes that nobody named.
remove() {
  local found
  found=$(within "$engine" ps --all --quiet --filter "label=$1")
  # shellcheck disable=SC2086
  [ -z "$found" ] || within "$engine" rm --force --volumes $found
}
if [ "$verb" = clear ]; then
  remove "apprentice.run=$VM_RUN"
  exit
fi
name=apprentice-$VM_RUN-$slot
lock "$name"
if [ "$verb" = release ]; then
  remove "apprentice.machine=$name"
  exit
fi

disk_file "$engine"
acceleration
ports_of_slot
host=${VM_HOST:-127.0.0.1}
image=${VM_IMAGE:-docker.io/happysixd/osworld-docker}
within "$engine" image inspect --format '{{.Id}}' "$image" || fail "$engine has no image $image: $engine pull $image"
options=(--detach --pull never --name "$name" --label "apprentice.run=$VM_RUN" --label "apprentice.machine=$name"
  --stop-timeout 0 --cap-add NET_ADMIN
  --env "DISK_SIZE=${VM_DISK_SIZE:-32G}" --env "RAM_SIZE=${VM_RAM:-4G}" --env "CPU_CORES=${VM_CPUS:-4}"
  --mount "type=bind,source=$disk,target=/System.qcow2,readonly"
  --publish "$host:${ports[0]}:5000" --publish "$host:${ports[1]}:9222"
  --publish "$host:${ports[2]}:8006" --publish "$host:${ports[3]}:8080")
if [ "$accel" = kvm ]; then options+=(--device /dev/kvm); else options+=(--env KVM=N); fi
# Docker's containers may make this device themselves, Podman's may not.
if [ "$engine" = podman ]; then options+=(--device /dev/net/tun); fi

remove "apprentice.machine=$name"
# A container whose ports are taken stays behind.
undo remove "apprentice.machine=$name"
within "$engine" run "${options[@]}" "$image"
answer "$host:${ports[0]}:${ports[1]}:${ports[2]}:${ports[3]}"
