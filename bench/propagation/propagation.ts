import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { openAppliance } from '../../src/appliance.js';
import { loadConfig } from '../../src/config.js';
import type { Bench } from '../main.js';
import { openCalibrated } from '../tools/calibrated-database.js';
import { readProteins } from '../tools/proteins.js';
import { searchLists } from './lists.js';

export const run: Bench = async ([folder = 'propagation', seconds = '280']) => {
  const untilMs = performance.now() + 1_000 * Number(seconds);
  const shared = process.env.GLOAMING_SHARED ?? join(loadConfig(process.env).packageFolder, '..', 'shared');
  const scope = join(shared, 'data', 'scope40');
  if (!existsSync(join(scope, 'labels.tsv'))) return { skipped: 'no data' };
  const { list } = await readProteins(join(scope, 'domains.fasta'));
  await mkdir(folder, { recursive: true });
  const environment = { GLOAMING_INDEXES: join(folder, 'i'), GLOAMING_DATA: join(folder, 'd') };
  const appliance = await openAppliance(loadConfig({ ...process.env, ...environment }));
  try {
    const engine = await openCalibrated(appliance, list, 'plain', folder);
    const sequences = list.map(({ sequence }) => sequence);
    const lists = await searchLists(engine, sequences, folder, 'domains', untilMs);
    return { done: lists !== undefined };
  } finally {
    await appliance.close();
  }
};
