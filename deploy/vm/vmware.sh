#!/usr/bin/env bash
# A machine of VMware Workstation for each slot, put back to a snapshot for each attempt.
#
#   vmrun -T ws snapshot /vms/Ubuntu0.vmx init_state    # once
#   VM_MACHINES=/vms/Ubuntu0.vmx,/vms/Ubuntu1.vmx apprentice run SUITE --world vm --vm-reset 'deploy/vm/vmware.sh reset'
#
# Needs vmrun, and VMware Tools in the machine. NOBODY HAS RUN THIS: the commands are those of OSWorld's own provider, and a stand-in
# for vmrun compares them.
#
#   VM_MACHINES  the path of the .vmx file for each slot, with commas between
#   VM_SNAPSHOT  the snapshot's name (init_state)
#   VM_PRODUCT   vmrun's -T: ws (default) or player
set -euo pipefail
verb=${1:-}
# shellcheck source=deploy/vm/common.sh
. "$(dirname "$0")/common.sh"
begin reset release
tool vmrun "it is a part of VMware Workstation"
machine_of_slot "the path of the machine's .vmx file"
machine=$(realpath -- "$machine") || fail "VM_MACHINES: the file of slot $slot is missing"
lock "$machine"
vmrun() { within vmrun -T "${VM_PRODUCT:-ws}" "$@"; }
runs() {
  local line
  while read -r line; do
    [ "$(realpath -m -- "$line")" != "$machine" ] || return 0
  done <<<"$listed"
  return 1
}
if [ "$verb" = release ]; then
  listed=$(vmrun list) || fail "vmrun list: $listed"
  if runs; then vmrun stop "$machine" hard; fi
  exit
fi

vmrun revertToSnapshot "$machine" "${VM_SNAPSHOT:-init_state}"
# The machine has the state that it had in the snapshot.
listed=$(vmrun list) || fail "vmrun list: $listed"
runs || vmrun start "$machine" nogui
# What vmrun says of an error stands where the address would.
address=$(vmrun getGuestIPAddress "$machine" -wait) || true
[[ $address =~ ^[0-9]+(\.[0-9]+){3}$ ]] || fail "vmrun names no address of $machine: $address"
answer "http://$address:5000"
