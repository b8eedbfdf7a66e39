#!/bin/sh
# The system's Chromium under the name of Google's own build, with its profile where that one keeps it: tasks start it
# and read its settings by these names. The profile is made here, as its presence says which of the two is used; the
# window fills the screen, and what it shows is told to accessibility, as on the machines that tasks are written for.
profile="$HOME/.config/google-chrome"
mkdir -p "$profile/Default" && : >>"$profile/First Run"
# What keeps Chromium still and free of first-run questions holds for this profile too.
for seed in 'Local State' Default/Preferences; do
  [ -e "$profile/$seed" ] || cp "$HOME/.config/chromium/$seed" "$profile/$seed"
done
exec chromium --user-data-dir="$profile" --class=google-chrome --password-store=basic --no-default-browser-check \
  --force-renderer-accessibility --start-maximized "$@"
