import { openQualification } from '../../calibration/policy-sidecar.js';
import { openCalibration } from '../../calibration/sidecar.js';
import type { Encoder } from '../../encoder/encoder.js';
import { Refusal } from '../../errors.js';
import { familyForm } from '../../families/form.js';
import { RELATIVE_RULES, ROUNDS_RULES } from '../../families/rules.js';
import type { BuildFamilies } from '../../indexing/build-options.js';
import { backendWishOf, chooseBackend } from '../../kernels/choose.js';
import { openAlignments, alignedRelatives } from '../../relatives/alignments.js';
import { backgroundDatabase, findBackground } from '../../relatives/backgrounds.js';
import { mmseqsRelatives, mmseqsVersion } from '../../relatives/mmseqs.js';
import { searchedRelatives } from '../../relatives/search.js';
import { releaseDirectory } from '../../release/catalog.js';
import { openRelease } from '../../release/open.js';
import { PROFILE_SCALE } from '../../release/profile-affine.js';
import type { SearchEngine } from '../../search/search-types.js';
import type { IndexCatalog } from './catalog.js';

/** What a build is told of relatives. */
export interface RelativesFlags {
  /** A database or background by name, `self`, or `none`. */
  readonly relatives: string;
  readonly alignments?: string;
}

/** Two rounds find more than one, and what drifts in a third is not worth it. */
const MMSEQS_ROUNDS = 2;

/** The relatives of a build, and what is to be closed when it is done. */
export interface OpenedFamilies {
  readonly families: BuildFamilies;
  close(): void;
}

/** Errors  Refusal `invalid_option` where both or impossible sources are named */
export function checkRelativesFlags({ relatives, alignments }: RelativesFlags): void {
  if (alignments === undefined || relatives === 'none') return;
  throw new Refusal(
    'invalid_option',
    'Relatives come from --relatives or from --alignments; name one of them.',
  );
}

/**
 * Opens where the relatives of a build come from; undefined where it has none.
 * @param slug  the database that is built: what `self` means
 * Errors  Refusal `background_not_found`, `encoder_changed`, `significance_unavailable`, `tool_missing`,
 *         `invalid_alignment`
 */
export async function openBuildFamilies(
  { relatives, alignments }: RelativesFlags,
  slug: string,
  encoder: Encoder,
  catalog: IndexCatalog,
): Promise<OpenedFamilies | undefined> {
  if (alignments !== undefined) return openGiven(alignments, encoder);
  if (relatives === 'none') return undefined;
  const name = relatives === 'self' ? slug : relatives;
  const plain = plainReleaseOf(name, encoder, catalog);
  if (plain !== undefined) return openSearched(plain, encoder, catalog);
  const { config } = catalog;
  const background = await findBackground(config.indexesFolder, name);
  if (background === undefined) {
    throw new Refusal(
      'background_not_found',
      `There is no database ${name} by the encoder ${encoder.card.id} and no background of that name. ` +
        '"gloaming index list" lists the databases; "gloaming background add" makes a background of FASTA files.',
    );
  }
  const version = await mmseqsVersion();
  if (version === undefined) {
    throw new Refusal(
      'tool_missing',
      `The background ${name} is searched by mmseqs, which is not installed here (Debian: apt-get install mmseqs2).`,
    );
  }
  const searched = { database: backgroundDatabase(config.indexesFolder, name), rounds: MMSEQS_ROUNDS };
  return {
    families: {
      ...formAndRules(encoder),
      rules: ROUNDS_RULES,
      finder: mmseqsRelatives(searched, ROUNDS_RULES, config.threads),
      background: { method: 'mmseqs', name, sha256: background.sha256, version, rounds: MMSEQS_ROUNDS },
    },
    close: () => undefined,
  };
}

/** The newest release of a database whose tokens are those of the encoder alone. */
function plainReleaseOf(
  name: string,
  { digest }: Encoder,
  { table, config }: IndexCatalog,
): string | undefined {
  const found = table
    .releases(name)
    .find(({ manifest }) => manifest.relatives === undefined && manifest.encoder.sha256 === digest);
  return found && releaseDirectory(config.indexesFolder, name, found.id);
}

async function openSearched(
  directory: string,
  encoder: Encoder,
  { config }: IndexCatalog,
): Promise<OpenedFamilies> {
  const release = await openRelease(directory);
  const calibration = await openCalibration(directory, {
    id: release.id,
    targetCount: release.targets.count,
  });
  if (calibration === undefined) {
    throw new Refusal(
      'significance_unavailable',
      `Relatives are told from others by E-values, and release ${release.id} has none: calibrate it with ` +
        `"gloaming index calibrate ${release.id}".`,
    );
  }
  const backend = await chooseBackend(backendWishOf(config));
  const store = await backend.open(release.tokens);
  const { threads } = config;
  const qualified = await openQualification(directory, {
    releaseId: release.id,
    calibrationId: calibration.id,
  });
  // Codes lose what families are made of.
  const qualification = qualified?.card.codes === undefined ? qualified : undefined;
  const engine: SearchEngine = { release, encoder, backend, store, calibration, qualification, threads };
  return {
    families: {
      ...formAndRules(encoder),
      finder: searchedRelatives(async () => engine, RELATIVE_RULES),
      background: {
        method: 'search',
        release_id: release.id,
        calibration_id: calibration.id,
        ...(qualification && { qualification_id: qualification.id }),
      },
    },
    close: () => store.close(),
  };
}

async function openGiven(path: string, encoder: Encoder): Promise<OpenedFamilies> {
  const folder = await openAlignments(path);
  return {
    families: {
      ...formAndRules(encoder),
      finder: alignedRelatives(folder, RELATIVE_RULES),
      background: { method: 'alignments', sha256: folder.sha256 },
    },
    close: () => undefined,
  };
}

function formAndRules({ card }: Encoder): Pick<BuildFamilies, 'form' | 'rules'> {
  return { form: familyForm(card, PROFILE_SCALE), rules: RELATIVE_RULES };
}
