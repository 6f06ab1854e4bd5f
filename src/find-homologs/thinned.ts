import { sha256Hex } from '../canonical.js';
import type { HomologFinder, SelectedHomologSet } from '../homologs/finder.js';
import type { Homolog } from '../homologs/homolog-set.js';
import type { HomologRules } from '../homologs/rules.js';
import { selectHomologs } from '../homologs/select.js';

/** Shares of its homologs that a protein keeps; each protein draws one of them. */
const SHARES: readonly number[] = [1, 0.3, 0.1];

/**
 * Returns a finder that keeps all homologs of a third of the proteins, and a random part of those of the others. Its
 * proteins resemble those of databases with large and with small homolog sources. Draws depend on the sequence and the
 * id of the homolog alone.
 * Errors  those of the finder
 */
export function thinnedHomologs(finder: HomologFinder, rules: HomologRules): HomologFinder {
  return {
    batchProteins: finder.batchProteins,
    async find(proteins, options) {
      const homologSets = await finder.find(proteins, options);
      return homologSets.map((homologSet) => thinned(homologSet, rules));
    },
  };
}

function thinned(homologSet: SelectedHomologSet, rules: HomologRules): SelectedHomologSet {
  const { sequence } = homologSet;
  const share = SHARES[Math.floor(drawOf(sequence) * SHARES.length)];
  if (share === 1) return homologSet;
  const byId = new Map<string, Homolog>();
  for (const homolog of [...homologSet.homologs, ...homologSet.averaged]) {
    if (!byId.has(homolog.id)) byId.set(homolog.id, homolog);
  }
  const homologs = [...byId.values()].filter(({ id }) => drawOf(`${sequence} ${id}`) < share);
  return selectHomologs({ sequence, homologs }, rules);
}

/** Returns a number in 0..1 (exclusive) that the text determines. */
function drawOf(text: string): number {
  return parseInt(sha256Hex(text).slice(0, 12), 16) / 2 ** 48;
}
