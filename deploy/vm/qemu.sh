#!/usr/bin/env bash
# A QEMU process for each attempt, on an overlay file of OSWorld's image, which stays as it is.
#
#   VM_RUN=tuesday VM_DISK=/images/Ubuntu.qcow2 VM_FIRMWARE=/usr/share/ovmf/OVMF.fd \
#     apprentice run SUITE --world vm --vm-reset 'deploy/vm/qemu.sh reset'
#
# `qemu.sh clear` ends what an interrupted run left. Needs qemu-system-x86_64 and qemu-img.
#
#   VM_RUN       a word for this run
#   VM_DISK      OSWorld's image, a qcow2 file
#   VM_FIRMWARE  a file of UEFI firmware in one piece (Debian's package ovmf: /usr/share/ovmf/OVMF.fd), or the word bios
#   VM_PORTS     ports of slot 0, SERVER:BROWSER:SCREEN:PLAYER (5000:9222:8006:8080); slot N has each N higher. SCREEN is not used:
#                the screen is VNC at the socket VM_STATE/RUN-SLOT/screen
#   VM_ACCEL     kvm (default), or tcg without it, about ten times as slow
#   VM_RAM, VM_CPUS   4G, 4
#   VM_MORE      further arguments of QEMU, with blanks between
#
# The ports are published at 127.0.0.1. Overlays grow to gigabytes: VM_STATE names their folder. OSWorld's image has not been run by
# this script.
set -euo pipefail
verb=${1:-}
# shellcheck source=deploy/vm/common.sh
. "$(dirname "$0")/common.sh"
begin reset release clear
run_name

# finish HOME: ends the process and removes its files.
finish() {
  local pid
  if [ -s "$1/pid" ]; then
    pid=$(<"$1/pid")
    # The number may be another process's by now.
    if [[ $pid =~ ^[1-9][0-9]*$ ]] && tr '\0' '\n' 2>/dev/null <"/proc/$pid/cmdline" | grep -qF "file=$1/disk.qcow2,"; then
      kill -KILL "$pid"
      within tail --pid "$pid" --sleep-interval 0.1 --follow /dev/null
    fi
  fi
  rm -rf "$1"
}
lock "$VM_RUN-$slot"
if [ "$verb" = clear ]; then
  for home in "$state/$VM_RUN"-*[0-9]; do
    [[ ${home#"$state/$VM_RUN-"} =~ ^[0-9]+$ ]] && finish "$home"
  done
  exit 0
fi
home=$state/$VM_RUN-$slot
if [ "$verb" = release ]; then
  finish "$home"
  exit
fi

tool qemu-system-x86_64 "Debian's package qemu-system-x86"
tool qemu-img "Debian's package qemu-utils"
disk_file QEMU
[[ $home != *,* ]] || fail "VM_STATE has a comma, which QEMU cannot take"
need VM_FIRMWARE "a file of UEFI firmware such as /usr/share/ovmf/OVMF.fd, or the word bios; which one, the image decides"
firmware=(-bios "$VM_FIRMWARE")
if [ "$VM_FIRMWARE" = bios ]; then firmware=(); elif [ ! -r "$VM_FIRMWARE" ]; then fail "VM_FIRMWARE=$VM_FIRMWARE cannot be read"; fi
acceleration
ports_of_slot
cpu=host
if [ "$accel" = tcg ]; then cpu=max; fi
read -ra more <<<"${VM_MORE:-}"

finish "$home"
undo finish "$home"
mkdir -m 700 "$home"
within qemu-img create -q -f qcow2 -F qcow2 -b "$disk" "$home/disk.qcow2"
at=hostfwd=tcp:127.0.0.1
# It returns when its ports are open.
within qemu-system-x86_64 -name "apprentice-$VM_RUN-$slot" -daemonize -pidfile "$home/pid" \
  -machine "q35,accel=$accel" -cpu "$cpu" -smp "${VM_CPUS:-4}" -m "${VM_RAM:-4G}" "${firmware[@]}" \
  -drive "file=$home/disk.qcow2,format=qcow2,if=virtio,cache=unsafe" \
  -netdev "user,id=net,$at:${ports[0]}-:5000,$at:${ports[1]}-:9222,$at:${ports[3]}-:8080" \
  -device virtio-net-pci,netdev=net -device virtio-vga,xres=1920,yres=1080 -device qemu-xhci -device usb-tablet \
  -display none -vnc "unix:$home/screen" "${more[@]}"
answer "127.0.0.1:${ports[0]}:${ports[1]}:0:${ports[3]}"
