import { assert } from '../src/errors.js';
import { searchBody, usageOf, type Figures, type Server } from './http-child.js';
import { openLoop } from './http-load.js';
import { median } from './search-statistics.js';

const RATE_PER_SECOND = 100;
const MINUTES = 10;
const MEBIBYTE = 1024 * 1024;

/** Memory under a steady load: each minute's figure, and how the second half stands to the first. */
export async function endurance(server: Server): Promise<Figures> {
  const resident: number[] = [];
  for (let minute = 1; minute <= MINUTES; minute += 1) {
    const answers = await openLoop(server, RATE_PER_SECOND, 60, (index) =>
      searchBody(server.sequences[index % server.sequences.length], 1),
    );
    assert(
      answers.every(({ status }) => status === 200),
      'every search is answered',
    );
    const { residentBytes, heapBytes } = await usageOf(server);
    resident.push(residentBytes);
    console.log(
      `after ${minute} min: ${mebibytes(residentBytes)} MiB resident, heap ${mebibytes(heapBytes)} MiB`,
    );
  }
  const half = MINUTES / 2;
  const growth = median(resident.slice(half)) - median(resident.slice(0, half));
  console.log(
    `${RATE_PER_SECOND}/s for ${MINUTES} min: the second half's median is ${mebibytes(growth)} MiB above the first's`,
  );
  return { endurance_resident_bytes: resident[resident.length - 1], endurance_growth_bytes: growth };
}

function mebibytes(bytes: number): string {
  return (bytes / MEBIBYTE).toFixed(1);
}
