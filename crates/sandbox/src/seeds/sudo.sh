#!/bin/sh
# What a cell has of `sudo`: its user is root over what is the user's own, in a namespace of the command's own. Nothing
# beyond that is in reach: the system's files cannot be written, there are no other users, and no packages can be
# installed. No password is needed; with -S one is read, and any will do.
shell='' asks='' none='' who=root
while [ $# -gt 0 ]; do
  case $1 in
    --) shift && break ;;
    -u | --user) who=$2 && shift ;;
    --user=*) who=${1#*=} ;;
    -p | --prompt | -g | --group | -C | --close-from | -D | --chdir | -T | --command-timeout) shift ;;
    -v | --validate | -k | -K | --reset-timestamp | --remove-timestamp) none=yes ;;
    --stdin) asks=yes ;;
    --login | --shell) shell=yes ;;
    --*) ;;
    -*)
      case $1 in *S*) asks=yes ;; esac
      case $1 in *[is]*) shell=yes ;; esac
      ;;
    *=*) export "$1" ;;
    *) break ;;
  esac
  shift
done
[ -z "$asks" ] || IFS= read -r _ || :
if [ $# -eq 0 ]; then
  [ -z "$none" ] || exit 0
  [ -n "$shell" ] || { echo 'usage: sudo [-EHiknSsv] [-u user] [VAR=value] command' >&2 && exit 1; }
  set -- "${SHELL:-/bin/sh}"
elif [ -n "$shell" ]; then
  set -- "${SHELL:-/bin/sh}" -c "$*"
fi
export SUDO_USER="$USER" SUDO_UID="$(id -u)" SUDO_GID="$(id -g)"
case $who in
  "$USER" | "#$SUDO_UID") exec "$@" ;;
  root | '#0') USER=root LOGNAME=root exec unshare --map-root-user -- "$@" ;;
  *) echo "sudo: unknown user $who" >&2 && exit 1 ;;
esac
