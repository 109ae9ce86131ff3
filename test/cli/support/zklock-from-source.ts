import { main, processIo } from '../../../packages/zklock/src/cli/bin.ts';

process.exitCode = await main(
  process.argv.slice(2),
  processIo(() => 'from source'),
);
