import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/* Rates of this machine, measured by its own builds: the basis of estimates. */

/**
 * Kinds of measured work. Units of a second: bytes twice, residues, proteins, pairs, residues, and residues of compared
 * targets × queries.
 */
export type RateName = 'digest' | 'read' | 'encode' | 'write' | 'calibrate' | 'codebook' | 'qualify';

/** Units per second; a kind that was never measured here is absent. */
export type MachineRates = Readonly<Partial<Record<RateName, number>>>;

/** Part of a new measurement in the stored rate, so that one disturbed build does not determine the next estimates. */
const NEW_SHARE = 0.5;
/** A shorter measurement has too much start-up time in it. Unit: ms */
const MEASURED_MIN_MS = 1_000;

/** Reads the stored rates of an encoder. A file that is absent or damaged gives no rates. */
export function readRates(dataFolder: string, encoderId: string): MachineRates {
  return readAll(dataFolder)[encoderId] ?? {};
}

/** Stores the rate of finished work. A failure to write it does not matter: the next build measures again. */
export function recordRate(
  dataFolder: string,
  encoderId: string,
  { name, units, ms }: { readonly name: RateName; readonly units: number; readonly ms: number },
): void {
  if (ms < MEASURED_MIN_MS || units <= 0) return;
  const all = readAll(dataFolder);
  const measured = (1000 * units) / ms;
  const earlier = all[encoderId]?.[name];
  const rate = earlier === undefined ? measured : earlier * (1 - NEW_SHARE) + measured * NEW_SHARE;
  const next = { ...all, [encoderId]: { ...all[encoderId], [name]: rate } };
  try {
    mkdirSync(dataFolder, { recursive: true, mode: 0o700 });
    const path = join(dataFolder, RATES_FILE);
    writeFileSync(`${path}.new`, `${JSON.stringify(next, undefined, 2)}\n`, { mode: 0o600 });
    renameSync(`${path}.new`, path);
  } catch {
    // The folder is full or read-only: the work itself reports that where it matters.
  }
}

const RATES_FILE = 'rates.json';

function readAll(dataFolder: string): Readonly<Record<string, MachineRates>> {
  try {
    const value = JSON.parse(readFileSync(join(dataFolder, RATES_FILE), 'utf8')) as unknown;
    return typeof value === 'object' && value !== null ? (value as Record<string, MachineRates>) : {};
  } catch {
    return {};
  }
}
