import { Job } from '../../../../packages/zklock/src/cli/run/job.ts';
import { processTable } from '../../../../packages/zklock/src/cli/run/process-table.ts';
import { Watchdog } from '../../../../packages/zklock/src/cli/run/watchdog.ts';

/** Lists the open files of a command, and of its watchdog when that has begun and closed the file of LISTS_WITHOUT. */
const file = process.env['LISTS_WITHOUT'] ?? '';
const watchdog = new Watchdog();
const [shell] = processTable().processes.filter(({ parent }) => parent === process.pid);
const list = `ls -l /proc/${shell?.pid}/fd`;
const patience = `tries=100; while [ $tries -gt 0 ] && ${list} | grep -qF '${file}'; do tries=$((tries - 1)); sleep 0.05; done`;
const job = new Job(['sh', '-c', `ls -l /proc/self/fd; echo; ${patience}; ${list}`], {});
job.start();
await job.exitCode;
watchdog.dismiss();
