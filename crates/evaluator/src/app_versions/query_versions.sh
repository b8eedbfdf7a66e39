# Prints the versions of programs, one per line: the requested name, a tab, and the version, or nothing if unknown.
# Each argument is NAME=CANDIDATE,CANDIDATE...; a candidate is COMMAND, or COMMAND@PROCESS where the process has
# another name. Among several installed candidates, a running one is preferred. The script only reads and starts no
# program with a window.
LC_ALL=C
# Wrappers of a cell go first, and belong to no package.
PATH=${PATH#*/first:}
export LC_ALL PATH

has() { command -v "$1" >/dev/null 2>&1; }

# Prints the version of the package that owns file $1. $2 is the likely package name: querying one package is much
# faster than searching all. Where /bin is a link to /usr/bin, the package may list either path.
packaged() {
  for path in "$1" "${1#/usr}"; do
    if has dpkg-query; then
      package=$2
      dpkg-query -L "$package" 2>/dev/null | grep -qxF -- "$path" || {
        package=$(dpkg-query -S "$path" 2>/dev/null | grep -v '^diversion' | head -n 1)
        package=${package%%[:,]*}
      }
      [ -z "$package" ] || { dpkg-query -W -f '${Version}\n' "$package" 2>/dev/null | head -n 1; return; }
    fi
    if has rpm; then
      version=$(rpm -qf --qf '%{VERSION}\n' "$path" 2>/dev/null) && { echo "$version" | head -n 1; return; }
    fi
    if has pacman; then
      version=$(pacman -Qo "$path" 2>/dev/null) && { echo "${version##* }"; return; }
    fi
  done
}

version_of() {
  file=$(command -v "$1" 2>/dev/null) || return
  case $file in
    /snap/* | */snap/bin/*) snap list "$1" 2>/dev/null | awk 'NR == 2 { print $2 }'; return ;;
    /*) ;;
    *) return ;;
  esac
  version=$(packaged "$(readlink -f "$file")" "$1")
  [ -n "$version" ] || version=$(packaged "$file" "$1")
  # Chromium-based browsers and Visual Studio Code print their version and exit without touching the profile.
  [ -n "$version" ] || case $1 in
    *chrom* | code) version=$(timeout 2 "$file" --version 2>/dev/null </dev/null | head -n 1) ;;
  esac
  echo "$version"
}

system() {
  for file in /etc/os-release /usr/lib/os-release; do
    [ -r "$file" ] && (. "$file" && echo "$ID-${VERSION_ID:-$BUILD_ID}") && return
  done
}

for asked; do
  name=${asked%%=*}
  found=
  if [ "$name" = os ]; then
    found=$(system)
  else
    candidates=$(echo "${asked#*=}" | tr ',' ' ')
    chosen=
    for one in $candidates; do
      has "${one%@*}" || continue
      [ -n "$chosen" ] || chosen=${one%@*}
      if pgrep -x "${one#*@}" >/dev/null 2>&1; then
        chosen=${one%@*}
        break
      fi
    done
    [ -z "$chosen" ] || found=$(version_of "$chosen")
  fi
  printf '%s\t%s\n' "$name" "$found"
done
