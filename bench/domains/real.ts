import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { BenchProtein } from '../tools/proteins.js';
import { writeFasta } from '../tools/proteins.js';
import { coversHalf, type JudgedPlace, type Place } from './places.js';

const run = promisify(execFile);

/** A protein with the description of its header. */
export interface NamedProtein extends BenchProtein {
  readonly name: string;
}

/** Kinds of proteins with repeats or several domains, by the names that UniProt gives them. */
export const KINDS: Readonly<Record<string, RegExp>> = {
  ankyrin: /ankyrin/i,
  'WD repeat': /\bWD\b|WD40|WD-repeat/i,
  calmodulin: /calmodulin|centrin|calcium-dependent protein kinase|EF-hand/i,
  kinase: /serine\/threonine-protein kinase/i,
  'ABC transporter': /ABC transporter|ATP-binding cassette/i,
  'several enzymes': /bifunctional|pentafunctional|trifunctional|multifunctional/i,
  spectrin: /spectrin|actinin|fimbrin/i,
  TPR: /TPR repeat|tetratricopeptide/i,
};

/** Proteins of a kind, of at most `longest` residues, evenly spaced. */
export function ofKind(proteins: readonly NamedProtein[], kind: RegExp, count: number, longest = 2_000) {
  const all = proteins.filter(({ name, sequence }) => kind.test(name) && sequence.length <= longest);
  const length = Math.min(all.length, count);
  return Array.from({ length }, (_, at) => all[Math.floor((at * all.length) / length)]);
}

/** HSPs of blastp by query and target. The E-values are of one search of all targets. Errors  those of blastp */
export async function blastHsps(
  queries: readonly BenchProtein[],
  targets: readonly BenchProtein[],
  largestE: number,
  folder: string,
): Promise<ReadonlyMap<string, readonly JudgedPlace[]>> {
  const [queryFile, targetFile] = ['hsp-queries.fasta', 'hsp-targets.fasta'].map((name) =>
    join(folder, name),
  );
  await writeFasta(queryFile, queries);
  await writeFasta(targetFile, targets);
  await run('makeblastdb', ['-in', targetFile, '-dbtype', 'prot']);
  const columns = '6 qseqid sseqid qstart qend sstart send evalue';
  const options = [
    '-evalue',
    String(largestE),
    '-max_target_seqs',
    String(targets.length),
    '-outfmt',
    columns,
  ];
  const search = ['-query', queryFile, '-db', targetFile, ...options];
  const { stdout } = await run('blastp', search, { maxBuffer: 2 ** 28 });
  const hsps = new Map<string, JudgedPlace[]>();
  for (const line of stdout.split('\n').filter(Boolean)) {
    const [query, target, ...numbers] = line.split('\t');
    const [queryStart, queryEnd, targetStart, targetEnd, eValue] = numbers.map(Number);
    const place = { queryStart: queryStart - 1, queryEnd, targetStart: targetStart - 1, targetEnd, eValue };
    const key = pairKey(query, target);
    hsps.set(key, [...(hsps.get(key) ?? []), place]);
  }
  return hsps;
}

export const pairKey = (query: string, target: string): string => `${query}\t${target}`;

/** Agreement of two sets of alignments of the same pairs. */
export interface Agreement {
  /** Pairs for which BLAST reports two HSPs or more. */
  readonly pairs: number;
  readonly hsps: number;
  /** Share of the HSPs of which an alignment of ours covers half in both proteins. */
  readonly found: number;
  readonly ours: number;
  /** Share of our alignments of which an HSP covers half in both proteins. */
  readonly confirmed: number;
}

/** @param pairs  the alignments of each pair by both programs */
export function agreementOf(
  pairs: readonly { readonly blast: readonly Place[]; readonly ours: readonly Place[] }[],
): Agreement {
  const multiple = pairs.filter(({ blast }) => blast.length >= 2);
  const covered = (places: readonly Place[], by: readonly Place[]): number =>
    places.filter((place) => by.some((other) => coversHalf(other, place))).length;
  const sum = (of: (pair: (typeof multiple)[number]) => number): number =>
    multiple.reduce((total, pair) => total + of(pair), 0);
  const hsps = sum(({ blast }) => blast.length);
  const ours = sum((pair) => pair.ours.length);
  return {
    pairs: multiple.length,
    hsps,
    found: hsps === 0 ? 0 : sum((pair) => covered(pair.blast, pair.ours)) / hsps,
    ours,
    confirmed: ours === 0 ? 0 : sum((pair) => covered(pair.ours, pair.blast)) / ours,
  };
}
