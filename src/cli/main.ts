#!/usr/bin/env node
import { reportError } from './program/errors.js';
import { runProgram } from './program/program.js';
import { printedContext } from './terminal/printed.js';

const context = printedContext({
  environment: process.env,
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
});

// A reader that has seen enough closes the pipe (`| head -1`). The command then ends as usual, with its cleaning up.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
}

try {
  await runProgram(process.argv.slice(2), context);
} catch (error) {
  process.exitCode = reportError(error, context);
}
