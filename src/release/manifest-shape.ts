import {
  ATTRIBUTES_FILE,
  NAMES_FILE,
  PROFILES_FILE,
  RELEASE_FORMAT,
  TARGETS_FILE,
  TAXONOMY_FILE,
  TOKENS_FILE,
} from './format.js';

/*
 * The shape of ReleaseManifest (release.ts), which JSON.parse does not check. The id of a release proves only that its
 * manifest is the one that the id was computed of. Members that are not listed here are allowed.
 */

/** Returns the place of the first wrong value, such as `files.names.path`; undefined if there is none. */
type Shape = (value: unknown, place: string) => string | undefined;
type Members = Readonly<Record<string, Shape>>;

const text = where((value) => typeof value === 'string');
const flag = where((value) => typeof value === 'boolean');
const number = where((value) => Number.isFinite(value));
/** Of bytes, targets or residues. */
const count = where((value) => Number.isSafeInteger(value) && (value as number) >= 0);
const digest = where((value) => typeof value === 'string' && /^[0-9a-f]{64}$/.test(value));

const PAIR_AFFINE: Members = { multiplier: number, offset: number, gap_open: number, gap_extend: number };

const MANIFEST = object(
  {
    format: oneOf(RELEASE_FORMAT),
    title: text,
    description: text,
    is_simulated: flag,
    corpus_snapshot_id: text,
    normalization_id: text,
    encoder: object({ id: text, sha256: digest, dimension: count, inverse_step: number }),
    affine: object(PAIR_AFFINE, {
      blosum62: number,
      profile: object({ ...PAIR_AFFINE, scale: number, weight: number }, { blosum62: number }),
    }),
    counts: object({ targets: count, residues: count }),
    filter_schema: object({
      id: text,
      fields: arrayOf(
        object({
          name: text,
          type: oneOf('string', 'integer', 'number', 'boolean', 'string_list'),
          is_taxonomy: flag,
        }),
      ),
    }),
    policies: arrayOf(object({ id: text, guarantee: oneOf('exhaustive', 'approximate') })),
    files: object(
      { targets: file(TARGETS_FILE), attributes: file(ATTRIBUTES_FILE), tokens: rows(TOKENS_FILE) },
      { profiles: rows(PROFILES_FILE), taxonomy: file(TAXONOMY_FILE), names: file(NAMES_FILE) },
    ),
  },
  {
    relatives: object(
      {
        background: object({ method: text }),
        rules: object({}),
        encoder_dimension: count,
        profile_share: number,
        counts: object({ targets: count, relatives: count }),
      },
      { form_id: text },
    ),
    embeddings: object({ sha256: digest, targets: count }),
  },
);

/**
 * Returns the place of the first member of a manifest that is missing or has a wrong value, such as
 * `files.names.path`; undefined if the manifest is a ReleaseManifest. A value that is no object lacks `format`.
 * Paths of files must be those of the format, because another path could lead out of the folder.
 */
export function findWrongMember(manifest: unknown): string | undefined {
  const place = MANIFEST(manifest, '');
  return place === '' ? 'format' : place;
}

function where(isRight: (value: unknown) => boolean): Shape {
  return (value, place) => (isRight(value) ? undefined : place);
}

function oneOf(...values: readonly string[]): Shape {
  return where((value) => typeof value === 'string' && values.includes(value));
}

function object(required: Members, optional: Members = {}): Shape {
  const members = Object.entries({ ...required, ...optional });
  return (value, place) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return place;
    for (const [name, shape] of members) {
      if (!Object.hasOwn(value, name) && Object.hasOwn(optional, name)) continue;
      const member = (value as Readonly<Record<string, unknown>>)[name];
      const wrong = shape(member, place === '' ? name : `${place}.${name}`);
      if (wrong !== undefined) return wrong;
    }
    return undefined;
  };
}

function arrayOf(element: Shape): Shape {
  return (value, place) => {
    if (!Array.isArray(value)) return place;
    for (const [index, item] of value.entries()) {
      const wrong = element(item, `${place}[${index}]`);
      if (wrong !== undefined) return wrong;
    }
    return undefined;
  };
}

function file(path: string): Shape {
  return object(entry(path));
}

function rows(path: string): Shape {
  return object({ ...entry(path), values_byte_offset: count, values_byte_length: count });
}

function entry(path: string): Members {
  return { path: oneOf(path), size_bytes: count, sha256: digest };
}
