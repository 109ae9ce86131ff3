import { Job } from '../../../../packages/zklock/src/cli/run/job.ts';
import { Watchdog } from '../../../../packages/zklock/src/cli/run/watchdog.ts';

/** A process that does what `zklock run` does, without a lock: argument 1 is a command for /bin/sh. */
const watchdog = new Watchdog();
const job = new Job(['/bin/sh', '-c', process.argv[2] ?? ''], {});
watchdog.guard(job.processes, 200);
job.start();
setInterval(() => undefined, 60_000);
