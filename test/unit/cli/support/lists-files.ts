import { Job } from '../../../../src/cli/run/job.ts';
import { processTable } from '../../../../src/cli/run/process-table.ts';
import { Watchdog } from '../../../../src/cli/run/watchdog.ts';

/** Lists the open files of a command and of its watchdog. */
const watchdog = new Watchdog();
const [shell] = processTable().processes.filter(({ parent }) => parent === process.pid);
const job = new Job(['sh', '-c', `ls -l /proc/self/fd; echo; ls -l /proc/${shell?.pid}/fd`], {});
job.start();
await job.exitCode;
watchdog.dismiss();
