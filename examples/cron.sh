#!/bin/sh
# A nightly report that cron starts on every host, and that one host makes:
#   0 3 * * *  ZOOKEEPER_CONNECT=zk1:2181,zk2:2181 /usr/local/bin/cron.sh /mnt/shared/reports
set -eu
folder=$1
zklock=${ZKLOCK:-npx zklock}

# A host whose clock is late may come when the report is finished, so the job looks for the report under the lock.
# The command gets the folder by the environment: a name with a quote in it cannot become a part of the program.
code=0
REPORT="$folder/$(date +%F)" $zklock run -n --on-lost 'echo "the report was interrupted: $ZKLOCK_LOST"' /locks/report -c '
  [ ! -e "$REPORT" ] || exit 0
  echo "report made with token $ZKLOCK_FENCE" > "$REPORT.part"
  mv "$REPORT.part" "$REPORT"
  echo "made $REPORT"
' || code=$?

# 75: another host has the lock, and makes the report. That is no failure for which cron should send mail.
[ "$code" -eq 75 ] || exit "$code"
