import { assert } from '../../src/errors.js';
import { searchBody, usageOf, type Figures, type Server } from './child.js';
import { openLoop } from './load.js';
import { median } from '../tools/statistics.js';

const RATE_PER_SECOND = 100;
const MINUTES = 10;
const QUERIES = 50;
const MEBIBYTE = 1024 * 1024;

/** Measures memory under a constant load, each minute, and compares the second half with the first. */
export async function endurance(server: Server): Promise<Figures> {
  const some = server.sequences.slice(0, QUERIES);
  const bodyOf = (index: number): string => searchBody(some[index % some.length], 1);
  await openLoop(server, 5, QUERIES / 5, bodyOf);
  const resident: number[] = [];
  let refused = 0;
  for (let minute = 1; minute <= MINUTES; minute += 1) {
    const answers = await openLoop(server, RATE_PER_SECOND, 60, bodyOf);
    // On a shared machine, a pause can fill the queue.
    assert(
      answers.every(({ status }) => status === 200 || status === 429),
      'every search is answered or refused temporarily',
    );
    refused += answers.filter(({ status }) => status === 429).length;
    const { residentBytes, heapBytes } = await usageOf(server);
    resident.push(residentBytes);
    console.log(
      `after ${minute} min: ${mebibytes(residentBytes)} MiB resident, heap ${mebibytes(heapBytes)} MiB`,
    );
  }
  const half = MINUTES / 2;
  const growth = median(resident.slice(half)) - median(resident.slice(0, half));
  console.log(
    `${RATE_PER_SECOND}/s for ${MINUTES} min, ${refused} refused: ` +
      `the second half's median is ${mebibytes(growth)} MiB above the first's`,
  );
  return {
    endurance_refused: refused,
    endurance_resident_bytes: resident[resident.length - 1],
    endurance_growth_bytes: growth,
  };
}

function mebibytes(bytes: number): string {
  return (bytes / MEBIBYTE).toFixed(1);
}
