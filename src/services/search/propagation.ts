import { Refusal } from '../../errors.js';
import { neighboursId } from '../../neighbours/card.js';
import { openNeighbours, readNeighboursCard, type Neighbours } from '../../neighbours/sidecar.js';
import { readWalksCard } from '../../propagation/card.js';
import { propagate, type JudgedWalk, type PropagatedHit } from '../../propagation/propagate.js';
import { createWalk } from '../../propagation/walk.js';
import type { Release, TargetSpace } from '../../release/release.js';
import type { Candidate, SearchEngine, SearchRequest } from '../../search/search-types.js';

/** The graph of a release, ready for walks. */
export interface Propagation extends JudgedWalk {
  readonly neighbours: Neighbours;
  /** `walks_…` */
  readonly walksId: string;
}

/** An opening, and the calibration that it was for. */
interface Opening<Opened> {
  readonly calibrationId: string | undefined;
  readonly opened: Promise<Opened>;
}

/** Opens something once for each release and calibration. Engines of one release share it. */
function openOnce<Opened>(
  open: (engine: SearchEngine) => Promise<Opened>,
): (engine: SearchEngine) => Promise<Opened> {
  const openings = new WeakMap<Release, Opening<Opened>>();
  return (engine) => {
    const { release, calibration } = engine;
    const existing = openings.get(release);
    if (existing !== undefined && existing.calibrationId === calibration?.id) return existing.opened;
    const opening = { calibrationId: calibration?.id, opened: open(engine) };
    openings.set(release, opening);
    // The next call tries again, because a pipeline may have made what is missing.
    opening.opened.catch(() => {
      if (openings.get(release) === opening) openings.delete(release);
    });
    return opening.opened;
  };
}

/**
 * Opens the graph of an engine's release, once for each release and calibration.
 * Errors  Refusal `propagation_unavailable` if there is none; Fault if it is damaged
 */
export const openGraph = openOnce(async ({ release, calibration }: SearchEngine): Promise<Neighbours> => {
  const neighbours = await openNeighbours(release, calibration?.id);
  if (neighbours === undefined) throw withoutGraph(release.id);
  return neighbours;
});

function withoutGraph(releaseId: string): Refusal {
  return new Refusal(
    'propagation_unavailable',
    `Release ${releaseId} has no graph of neighbours with its calibration, which propagation walks over; ` +
      '"gloaming index neighbours" makes one.',
    { release_id: releaseId },
  );
}

function withoutWalks(releaseId: string): Refusal {
  return new Refusal(
    'propagation_unavailable',
    `Release ${releaseId} has no null of walks over its graph of neighbours, so that propagation has no ` +
      'E-values; "gloaming index propagation" makes one.',
    { release_id: releaseId },
  );
}

/**
 * Reads the id of the null of walks over a release's graph, without the graph.
 * @param calibrationId  null where the release has none
 * Errors  Refusal `propagation_unavailable` if graph or null is missing; Fault if a card is damaged
 */
export async function readWalksId(
  { id, directory }: Pick<Release, 'id' | 'directory'>,
  calibrationId: string | null,
): Promise<string> {
  const card = await readNeighboursCard(directory);
  if (card === undefined || (card.calibration_id ?? null) !== calibrationId) throw withoutGraph(id);
  const signed = await readWalksCard(directory, neighboursId(card));
  if (signed === undefined) throw withoutWalks(id);
  return signed.id;
}

/**
 * Opens the graph of an engine's release and the null of its walks, once for each release and calibration.
 * Errors  Refusal `propagation_unavailable` if one of them is missing; Fault if one is damaged
 */
export const openPropagation = openOnce(async (engine: SearchEngine): Promise<Propagation> => {
  const { release } = engine;
  const neighbours = await openGraph(engine);
  const signed = await readWalksCard(release.directory, neighbours.id);
  if (signed === undefined) throw withoutWalks(release.id);
  return {
    neighbours,
    walksId: signed.id,
    walk: createWalk(neighbours.graph, signed.card.parameters),
    walkNull: signed.card,
    targetCount: release.targets.count,
  };
});

/** Whether a request wants a walk. */
type Requested = 'not_requested' | 'required' | undefined;

/**
 * Opens the graph that a request wants walked; undefined if it wants none.
 * Errors  Refusal `propagation_unavailable` before any work; Fault if the graph or its null is damaged
 */
export async function requestedPropagation(
  requested: Requested,
  settings: Pick<SearchRequest, 'evidence' | 'significance' | 'databaseSize'>,
  engine: SearchEngine,
): Promise<Propagation | undefined> {
  if (requested !== 'required') return undefined;
  refuseWithoutStart(settings);
  return openPropagation(engine);
}

/**
 * Errors  Refusal `propagation_unavailable` if a search leaves out what walks start from, or has E-values of another
 *         population than the walks
 */
function refuseWithoutStart({
  evidence,
  significance,
  databaseSize,
}: Pick<SearchRequest, 'evidence' | 'significance' | 'databaseSize'>): void {
  if (databaseSize !== undefined) {
    throw new Refusal(
      'propagation_unavailable',
      'The E-values of walks are those of the release, whatever database size is given. Leave out one of the two.',
      { param: 'database_size' },
    );
  }
  const isAligned = evidence === 'pairwise_sequence_alignment';
  if (isAligned && significance !== 'not_requested') return;
  throw new Refusal(
    'propagation_unavailable',
    'A walk starts from hits with E-values and alignments. Ask with "evidence": "pairwise_sequence_alignment" and ' +
      '"significance": "if_available" or "required".',
    { param: isAligned ? 'significance' : 'evidence' },
  );
}

/** A query and its candidates, as a search found them. */
export interface PropagatedSearch {
  readonly sequence: string;
  readonly candidates: readonly Candidate[];
  readonly targetSpace: TargetSpace;
}

/**
 * Walks from the candidates of one search. Returns eligible targets only; bridges may be any targets of the release.
 * The walk avoids candidates with the sequence of the query: a protein of the database finds what a new one does.
 */
export function propagateSearch(
  { sequence, candidates, targetSpace: { eligible } }: PropagatedSearch,
  { release: { targets } }: Pick<SearchEngine, 'release'>,
  propagation: Propagation,
): readonly PropagatedHit[] {
  const own = new Set(
    candidates
      .map(({ targetIndex }) => targetIndex)
      .filter(
        (target) => targets.length(target) === sequence.length && targets.sequence(target) === sequence,
      ),
  );
  const hits = propagate(candidates, propagation, (target) => own.has(target));
  if (eligible === undefined) return hits;
  const isEligible = new Set(eligible);
  return hits.filter(({ target }) => isEligible.has(target));
}
