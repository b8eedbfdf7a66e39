#!/bin/sh
# The name without a number, which Debian leaves out.
exec python3 "$@"
