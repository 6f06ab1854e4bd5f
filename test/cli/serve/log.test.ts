import { expect, it } from 'vitest';
import { createServerLog } from '#src/cli/serve/log.js';

/* The form of the server's log on a terminal. */

/** Stub streams of a terminal, and the text that was written to standard error. */
function terminal() {
  const written: string[] = [];
  const stream = {
    isTTY: true,
    write: (text: string) => written.push(text),
  } as unknown as NodeJS.WriteStream;
  return { streams: { stdout: stream, stderr: stream }, text: () => written.join('') };
}

it('a terminal shows no requests, and warnings as sentences', () => {
  const { streams, text } = terminal();
  const log = createServerLog({ logLevel: 'info', isLogLevelSet: false }, streams);
  log.info({ operation: 'homology.search', status: 200 }, 'request');
  log.warn({ err: new Error('no space left'), part: 2 }, 'A run waits for a disk.');
  log.error('A webhook could not be recorded.');
  const [warning, error, ...rest] = text().split('\n');
  expect(warning).toMatch(/^\d\d:\d\d:\d\d warning: A run waits for a disk\. \(no space left\) part=2$/);
  expect(error).toMatch(/^\d\d:\d\d:\d\d error: A webhook could not be recorded\.$/);
  expect(rest).toEqual(['']);
});

it('a terminal shows requests if the level is set', () => {
  const { streams, text } = terminal();
  const log = createServerLog({ logLevel: 'info', isLogLevelSet: true }, streams);
  log.info({ operation: 'homology.search', status: 200 }, 'request');
  expect(text()).toMatch(/^\d\d:\d\d:\d\d request operation=homology\.search status=200\n$/);
});
