import type { QueryTokens } from '../kernels/kernels.js';
import type { Family, FoundHomolog, GivenProfile, Homolog, HomologSet } from './homolog-set.js';

/** A protein to search homologs for. */
export interface HomologQuery {
  /** The finder of a folder of alignments reads the file that this id names. */
  readonly id?: string;
  readonly sequence: string;
  /** Members of the family whose consensus the protein is. Only the finder of families reads them. */
  readonly family?: Family;
}

/** A protein with the homologs that selectHomologs or selectRounds chose for its profile. */
export interface SelectedHomologSet extends HomologSet {
  /** Homologs whose token vectors are averaged. */
  readonly averaged: readonly Homolog[];
  /** Tokens of the `residues` of each averaged homolog; undefined if the encoder has to compute them. */
  readonly vectors?: readonly QueryTokens[];
  /** Profile that was given instead of homologs; undefined if it is computed from the homologs. */
  readonly profile?: GivenProfile;
}

/** How homologs are searched. */
export interface FindOptions {
  readonly signal?: AbortSignal;
  /** Whether other work of the machine goes first. */
  readonly isLowPriority?: boolean;
}

/** Finds homologs of proteins. The homologs of a protein do not depend on the other proteins of a call. */
export interface HomologFinder {
  /** Recommended number of proteins per call. ≥ 1. */
  readonly batchProteins: number;
  /** Returns one homolog set for each protein, in order. Errors  those of the implementation; the signal's reason */
  find(proteins: readonly HomologQuery[], options?: FindOptions): Promise<readonly SelectedHomologSet[]>;
  /**
   * Lists all homologs of one protein in ascending order of E-value, near copies included. A finder that cannot search
   * omits this method.
   * Errors  as find
   * @param limit  largest number of search hits to consider
   */
  readonly list?: ListHomologs;
}

export type ListHomologs = (
  sequence: string,
  limit: number,
  options?: FindOptions,
) => Promise<readonly FoundHomolog[]>;

/** Returns a homolog set that contains only the protein itself. */
export function withoutHomologs(sequence: string): SelectedHomologSet {
  return { sequence, homologs: [], averaged: [] };
}

/** Returns the number of homologs in the profile of a set. */
export function homologCountOf({ homologs, profile }: SelectedHomologSet): number {
  return profile?.sequenceCount ?? homologs.length;
}
