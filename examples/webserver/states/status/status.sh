#!/bin/sh
# Writes how the machine does, again and again. EVERY and NAME come from /etc/status.conf.
set -eu
while true; do
  read -r load _ </proc/loadavg
  printf '{"name": "%s", "load": %s}\n' "$NAME" "$load" >/run/status/status.json.new
  mv /run/status/status.json.new /run/status/status.json
  sleep "$EVERY"
done
