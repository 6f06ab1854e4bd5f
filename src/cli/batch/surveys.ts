import { readFile } from 'node:fs/promises';
import { Fault } from '../../errors.js';
import type { Survey } from '../../search/parts/survey.js';
import { readSurveys } from '../../search/parts/written.js';

/** The surveys of a file that a task has published, query by query. Errors  Fault where it is damaged */
export async function readSurveysOf(path: string): Promise<readonly Survey[]> {
  const bytes = await readFile(path);
  try {
    return readSurveys(bytes);
  } catch (cause) {
    throw new Fault(`${path} is damaged; remove it, and the same command makes it anew.`, { cause });
  }
}
