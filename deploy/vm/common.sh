# Common parts of the scripts beside this file, which source it. Each script is a command of `vm.reset` and `vm.release`:
#
#   NAME.sh reset      ends the machine of this slot, starts one in its first state, and prints its address as the last line
#   NAME.sh release    ends the machine of this slot
#
# Apprentice sets APPRENTICE_VM_SLOT, the machine's number from 0; by hand, set it yourself. All scripts read
#
#   VM_WITHIN   seconds that a call may take in all (300); keep it below `vm.reset_s`
#   VM_STATE    a folder of your own for locks and overlays (/var/tmp/apprentice-vm-UID)
#
# They need Linux with bash, coreutils and util-linux. What tools print goes to standard error.
# shellcheck shell=bash
export LC_ALL=C
exec 3>&1 >&2
self=${0##*/}
SECONDS=0

fail() { echo "$self: $1" >&2; exit 1; }
# need VARIABLE WHAT: ends the script when the variable is empty.
need() { [ -n "${!1:-}" ] || fail "$1 is not set: $2"; }
number() { [[ ${!1} =~ ^(0|[1-9][0-9]{0,5})$ ]] || fail "$1 is '${!1}', which is no whole number up to 999999"; }
tool() { command -v "$1" >/dev/null || fail "the program $1 is not found: $2"; }

VM_WITHIN=${VM_WITHIN:-300}
number VM_WITHIN
overdue() { fail "$* did not end within $VM_WITHIN s in all; VM_WITHIN sets the time"; }
# Runs a program until the call's deadline. What it leaves running holds neither the answer nor the lock open.
within() {
  local left=$((VM_WITHIN - SECONDS)) code=0
  [ "$left" -gt 0 ] || overdue "$@"
  timeout --kill-after=5 "$left" "$@" 3>&- 9>&- || code=$?
  # 137: the program had to be killed.
  if [ "$code" -eq 124 ] || [ "$code" -eq 137 ]; then overdue "$@"; fi
  return "$code"
}
# Repeats a command of this shell twice a second until it prints something. For states that a tool cannot wait for.
until_said() {
  local said
  until said=$("$@") && [ -n "$said" ]; do
    [ "$SECONDS" -lt "$VM_WITHIN" ] || overdue "$@"
    sleep 0.5
  done
  echo "$said"
}

# undo COMMAND...: runs it unless the call ends well (`answer`), with half a minute for it beyond the deadline.
undo() {
  undoing=("$@")
  trap 'VM_WITHIN=$((SECONDS + 30)); "${undoing[@]}"' EXIT
}
answer() {
  trap - EXIT
  echo "$1" >&3
}

# begin VERB...: the verb is one of these; and the slot, as `slot`.
begin() {
  [[ -n $verb && " $* " = *" $verb "* ]] || { (IFS="|"; echo "usage: $self $*"); exit 2; }
  if [ "$verb" = clear ]; then APPRENTICE_VM_SLOT=0; fi
  need APPRENTICE_VM_SLOT "Apprentice sets it; by hand: APPRENTICE_VM_SLOT=0 $0 $verb"
  number APPRENTICE_VM_SLOT
  slot=$APPRENTICE_VM_SLOT
}
# The name that keeps machines of one run apart from those of another.
run_name() {
  need VM_RUN "a word for this run, such as VM_RUN=tuesday; two runs at once need two words"
  [[ $VM_RUN =~ ^[A-Za-z0-9][A-Za-z0-9_.-]{0,39}$ ]] || fail "VM_RUN is '$VM_RUN': use up to 40 letters, digits, '_', '.' and '-'"
}
# The machine of this slot in VM_MACHINES, as `machine`.
machine_of_slot() {
  need VM_MACHINES "$1, one for each slot, with commas between"
  local machines
  IFS=, read -ra machines <<<"$VM_MACHINES"
  [ -z "$(printf '%s\n' "${machines[@]}" | sort | uniq -d)" ] || fail "VM_MACHINES names a machine twice: slots would share it"
  machine=${machines[$slot]:-}
  [ -n "$machine" ] || fail "VM_MACHINES has no machine for slot $slot: name as many as \`vm.machines\` says"
}
# The folder of state, as `state`; and a lock, so that two calls for one machine follow each other.
lock() {
  state=${VM_STATE:-/var/tmp/apprentice-vm-$UID}
  (umask 077 && mkdir -p "$state")
  [ -O "$state" ] || fail "$state belongs to somebody else: set VM_STATE to a folder of your own"
  exec 9>"$state/lock-${self%.sh}-$(printf %s "$1" | cksum | tr ' ' -)"
  flock --wait "$VM_WITHIN" 9 || fail "another call holds the machine $1 for more than $VM_WITHIN s"
}
# The ports of this slot, as `ports`: those of slot 0 are VM_PORTS, and each further slot has the next ones.
ports_of_slot() {
  local port other
  VM_PORTS=${VM_PORTS:-5000:9222:8006:8080}
  [[ $VM_PORTS =~ ^[1-9][0-9]{0,4}(:[1-9][0-9]{0,4}){3}$ ]] || fail "VM_PORTS is '$VM_PORTS': give SERVER:BROWSER:SCREEN:PLAYER"
  IFS=: read -ra ports <<<"$VM_PORTS"
  for port in 0 1 2 3; do
    for other in 0 1 2 3; do
      local apart=$((ports[port] - ports[other]))
      [ "$port" = "$other" ] || [ "${apart#-}" -gt "$slot" ] ||
        fail "VM_PORTS=$VM_PORTS leaves no room for slot $slot: two of them are ${apart#-} apart"
    done
  done
  for port in 0 1 2 3; do
    ports[port]=$((ports[port] + slot))
    [ "${ports[port]}" -le 65535 ] || fail "VM_PORTS=$VM_PORTS and slot $slot lead to port ${ports[port]}"
  done
}
# The disk's absolute path, as `disk`.
disk_file() {
  need VM_DISK "the path of OSWorld's image, such as /images/Ubuntu.qcow2"
  disk=$(realpath -m -- "$VM_DISK")
  [[ $disk != *[,\"]* ]] || fail "VM_DISK=$disk has a comma or a quotation mark, which $1 cannot take"
}
# Whether the processor runs the machine itself, as `accel`. Without it a machine is about ten times as slow: never a silent choice.
acceleration() {
  accel=${VM_ACCEL:-kvm}
  case $accel in
    tcg) ;;
    kvm) [ -e /dev/kvm ] || fail "/dev/kvm is missing: enable virtualization, or set VM_ACCEL=tcg, about ten times as slow" ;;
    *) fail "VM_ACCEL is '$accel': kvm or tcg" ;;
  esac
}
