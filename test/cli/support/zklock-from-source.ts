import { main, processIo } from '../../../src/cli/bin.ts';

process.exitCode = await main(
  process.argv.slice(2),
  processIo(() => 'from source'),
);
