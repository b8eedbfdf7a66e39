#!/usr/bin/env bash
# A machine of VirtualBox for each slot, put back to a snapshot for each attempt.
#
#   VBoxManage snapshot osworld0 take init_state    # once
#   VM_MACHINES=osworld0,osworld1 apprentice run SUITE --world vm --vm-reset 'deploy/vm/virtualbox.sh reset'
#
# Needs VBoxManage, VirtualBox's guest additions in the machine, and a first network card whose address this machine reaches (bridged, as
# OSWorld sets it, or host-only). NOBODY HAS RUN THIS: the commands are those of OSWorld's own provider, and a stand-in for VBoxManage
# compares them; only `poweroff` replaces its `savestate`, as what would be saved is thrown away.
#
#   VM_MACHINES  the name or UUID of the machine for each slot, with commas between
#   VM_SNAPSHOT  the snapshot's name (init_state)
set -euo pipefail
verb=${1:-}
# shellcheck source=deploy/vm/common.sh
. "$(dirname "$0")/common.sh"
begin reset release
tool VBoxManage "it is a part of VirtualBox"
machine_of_slot "the machine's name or UUID (VBoxManage list vms)"
lock "$machine"
power_off() {
  local listed
  listed=$(within VBoxManage list runningvms)
  if grep -qF -e "\"$machine\" {" -e "{$machine}" <<<"$listed"; then within VBoxManage controlvm "$machine" poweroff; fi
}
if [ "$verb" = release ]; then
  power_off
  exit
fi

power_off
# The machine stays locked for a moment after its end, and VBoxManage cannot wait for that.
restore() { within VBoxManage snapshot "$machine" restore "${VM_SNAPSHOT:-init_state}" >&2 && echo restored; }
VM_WITHIN=$((SECONDS + 30 < VM_WITHIN ? SECONDS + 30 : VM_WITHIN)) until_said restore
within VBoxManage startvm "$machine" --type headless
address() { within VBoxManage guestproperty get "$machine" /VirtualBox/GuestInfo/Net/0/V4/IP | sed -nE 's/^Value: ([0-9.]+)$/\1/p'; }
found=$(until_said address)
answer "http://$found:5000"
