#!/usr/bin/env node
'use strict';

// The bundle of `run` loads faster: it is started for each command.
const { main, processIo } = require(process.argv[2] === 'run' ? '../dist/zklock-run.cjs' : '../dist/zklock.cjs');

main(
  process.argv.slice(2),
  processIo(() => require('../package.json').version),
).then((code) => {
  process.exitCode = code;
});
