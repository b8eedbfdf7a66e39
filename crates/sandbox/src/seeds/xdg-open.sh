#!/bin/sh
# Opens a file in the background, as a desktop does. Without a desktop, the system's script stays until the program that it started ends.
PATH=${PATH#*:}
case ${1-} in
  '' | -*) exec xdg-open "$@" ;;
  file:* | *://*) ;;
  *)
    # The system's script says what is wrong, with a code of its own for each.
    kind=$([ -e "$1" ] && xdg-mime query filetype "$1")
    [ -n "$kind" ] && [ -n "$(xdg-mime query default "${kind%%;*}")" ] || exec xdg-open "$@"
    ;;
esac
exec setsid --fork xdg-open "$@" </dev/null >/dev/null 2>&1
