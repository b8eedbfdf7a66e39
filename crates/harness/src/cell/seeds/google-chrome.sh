#!/bin/sh
# The system's Chromium under the name of Google's own build, with its profile where that one keeps it: tasks start it
# and read its settings by these names. The profile is made here, as its presence says which of the two is used; the
# window fills the screen, and what it shows is told to accessibility, as on the machines that tasks are written for.
profile="$HOME/.config/google-chrome"
mkdir -p "$profile" && : >>"$profile/First Run"
exec chromium --user-data-dir="$profile" --class=google-chrome --password-store=basic --no-default-browser-check \
  --force-renderer-accessibility --start-maximized "$@"
