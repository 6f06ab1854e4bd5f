import type { QueryTokens } from '../kernels/kernels.js';
import type { HomologSet, FoundHomolog, Homolog } from './homolog-set.js';

/** A protein whose relatives are looked for. */
export interface HomologQuery {
  /** Its id where it has one: alignments are filed under it. */
  readonly id?: string;
  readonly sequence: string;
}

/** A protein with the relatives that count (select.ts). */
export interface SelectedHomologSet extends HomologSet {
  /** Those whose vectors are averaged. */
  readonly averaged: readonly Homolog[];
  /** Tokens of their `residues` where they are at hand; otherwise they are encoded. */
  readonly vectors?: readonly QueryTokens[];
}

/** Where relatives come from. Equal proteins get equal relatives, alone or among others. */
export interface HomologFinder {
  /** Proteins that a call is best made for. */
  readonly batchProteins: number;
  /** One family for each protein, in order. Errors  its own, or the signal's reason */
  find(
    proteins: readonly HomologQuery[],
    options?: { readonly signal?: AbortSignal },
  ): Promise<readonly SelectedHomologSet[]>;
  /**
   * All relatives of one protein, near copies too, nearest first; absent where they are not searched for.
   * @param limit of those that are looked at. Errors  as find
   */
  readonly list?: ListHomologs;
}

export type ListHomologs = (
  sequence: string,
  limit: number,
  options?: { readonly signal?: AbortSignal },
) => Promise<readonly FoundHomolog[]>;

/** A protein of which no relatives are known or wanted. */
export function withoutHomologs(sequence: string): SelectedHomologSet {
  return { sequence, homologs: [], averaged: [] };
}
