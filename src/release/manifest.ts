import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { Fault } from '../errors.js';
import { valueId } from '../ids.js';
import { MANIFEST_FILE, RELEASE_FORMAT } from './format.js';
import { findWrongMember } from './manifest-shape.js';
import type { FileEntry, FilterField, ReleaseManifest } from './release.js';

/** The reference policy: exact MaxSim over every eligible target. */
export const EXHAUSTIVE_POLICY = Object.freeze({
  id: valueId('pol', {
    guarantee: 'exhaustive',
    measurement: 'maxsim.bidirectional',
    population: 'all_eligible',
  }),
  guarantee: 'exhaustive' as const,
});

/** `dbr_…`: the canonical SHA-256 of the manifest. */
export function releaseId(manifest: ReleaseManifest): string {
  return valueId('dbr', manifest);
}

/** The manifest's member that lists the fields which a filter may name. */
export function filterSchema(fields: readonly FilterField[]): ReleaseManifest['filter_schema'] {
  const wire = fields.map(({ name, type, isTaxonomy }) => ({ name, type, is_taxonomy: isTaxonomy === true }));
  return { id: valueId('fsch', { fields: wire }), fields: wire };
}

/**
 * Text of manifest.json. There is one text for a manifest, so that a changed byte is found even in white
 * space.
 */
export function manifestText(manifest: ReleaseManifest): string {
  return `${JSON.stringify(manifest, undefined, 2)}\n`;
}

/** The files of a release, without manifest.json. */
export function listedFiles(manifest: ReleaseManifest): readonly FileEntry[] {
  const { targets, attributes, tokens, profiles, taxonomy, names } = manifest.files;
  return [targets, attributes, tokens, profiles, taxonomy, names].filter((file) => file !== undefined);
}

/**
 * Reads the manifest of a release folder; its content must match the id by which the folder is named.
 * Errors  Fault where it cannot be read, was changed, lacks a member, or was made by a version with another format
 */
export async function readManifest(directory: string): Promise<ReleaseManifest> {
  const path = join(directory, MANIFEST_FILE);
  let manifest: ReleaseManifest;
  try {
    manifest = JSON.parse(await readFile(path, 'utf8')) as ReleaseManifest;
  } catch (cause) {
    throw new Fault(`${path} cannot be read.`, { cause });
  }
  if (manifest?.format !== RELEASE_FORMAT) {
    throw new Fault(
      `${path} has format ${JSON.stringify(manifest?.format)}; this version reads ${RELEASE_FORMAT}.`,
    );
  }
  if (releaseId(manifest) !== basename(directory)) {
    throw new Fault(`${path} was changed: it is the manifest of ${releaseId(manifest)}.`);
  }
  const wrong = findWrongMember(manifest);
  if (wrong !== undefined)
    throw new Fault(`${path} has no valid ${wrong}; build or copy this release again.`);
  return manifest;
}
