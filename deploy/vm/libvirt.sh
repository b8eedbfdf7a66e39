#!/usr/bin/env bash
# A machine of libvirt for each slot, put back to a snapshot for each attempt.
#
#   virsh snapshot-create-as osworld0 init_state    # once, best while the machine runs and its server answers
#   VM_MACHINES=osworld0,osworld1 apprentice run SUITE --world vm --vm-reset 'deploy/vm/libvirt.sh reset'
#
# Needs virsh; its own variable LIBVIRT_DEFAULT_URI names the hypervisor.
#
#   VM_MACHINES   libvirt's name of the machine for each slot, with commas between
#   VM_SNAPSHOT   the snapshot's name (init_state)
#   VM_ADDRESSES  where libvirt reads addresses: lease (default, libvirt's own networks), agent (in the machine) or arp
set -euo pipefail
verb=${1:-}
# shellcheck source=deploy/vm/common.sh
. "$(dirname "$0")/common.sh"
begin reset release
tool virsh "Debian's package libvirt-clients"
machine_of_slot "libvirt's name of the machine (virsh list --all)"
lock "$machine"
now() { within virsh domstate "$machine"; }
if [ "$verb" = release ]; then
  found=$(now)
  [ "$found" = "shut off" ] || within virsh destroy "$machine"
  exit
fi
addresses=${VM_ADDRESSES:-lease}
[[ $addresses =~ ^(lease|agent|arp)$ ]] || fail "VM_ADDRESSES is '$addresses': lease, agent or arp"

within virsh snapshot-revert "$machine" --snapshotname "${VM_SNAPSHOT:-init_state}"
# The machine has the state that it had in the snapshot.
found=$(now)
case $found in
  running) ;;
  paused) within virsh resume "$machine" ;;
  *) within virsh start "$machine" ;;
esac
address() {
  within virsh domifaddr "$machine" --source "$addresses" |
    awk '$3 == "ipv4" && $4 !~ /^127\./ && !found++ { sub("/.*", "", $4); print $4 }'
}
found=$(until_said address)
answer "http://$found:5000"
