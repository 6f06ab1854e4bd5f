import { useMemo, useRef, useState } from 'preact/hooks';
import { counted, eValue } from '../../parts/format.js';
import { useLoaded } from '../../parts/load.js';
import { Await } from '../../parts/notice.js';
import { PlainTable } from '../../parts/plain-table.js';
import { surprise } from '../colour.js';
import { describedBy } from '../hits.js';
import type { Neighbourhood, ResultTools } from '../tools.js';
import { NeighbourhoodEdges } from './neighbourhood-edges.js';
import { FRAME, layout, nextPoint } from './neighbourhood-layout.js';
import { SurpriseLegend } from './surprise-legend.js';

interface NeighbourhoodChartProps {
  /** The protein in the middle at first. */
  readonly id: string;
  /** Ids of the hits of the query, which are drawn with a ring. */
  readonly hitIds: ReadonlySet<string>;
  readonly load: NonNullable<ResultTools['neighbourhood']>;
}

type Colouring = 'evalue' | 'taxon';

/** Draws the proteins within two steps of a hit in the graph of neighbours. A click walks to another protein. */
export function NeighbourhoodChart({ id, hitIds, load }: NeighbourhoodChartProps) {
  const [walk, setWalk] = useState<readonly string[]>([id]);
  const centre = walk[walk.length - 1];
  const loaded = useLoaded((signal) => load(centre, signal), [centre]);
  const before = walk[walk.length - 2] as string | undefined;
  return (
    <div class="neighbourhood">
      <Await loaded={loaded}>
        {(neighbourhood) =>
          neighbourhood === undefined ? (
            <p class="muted">
              This database has no graph of neighbours yet: "gloaming index neighbours" on the server makes
              one.
            </p>
          ) : (
            <Drawn
              key={centre}
              neighbourhood={neighbourhood}
              hitIds={hitIds}
              onWalk={(next) => setWalk([...walk, next])}
            />
          )
        }
      </Await>
      {before !== undefined && (
        <button type="button" class="button quiet small" onClick={() => setWalk(walk.slice(0, -1))}>
          Back to {before}
        </button>
      )}
    </div>
  );
}

interface DrawnProps {
  readonly neighbourhood: Neighbourhood;
  readonly hitIds: ReadonlySet<string>;
  readonly onWalk: (id: string) => void;
}

function Drawn({ neighbourhood, hitIds, onWalk }: DrawnProps) {
  const { proteins, left_out_count: leftOut } = neighbourhood;
  const [form, setForm] = useState<'picture' | 'table'>('picture');
  const [colouring, setColouring] = useState<Colouring>('evalue');
  const taxa = useMemo(() => proteins.map(({ attributes }) => taxonOf(attributes)), [neighbourhood]);
  const hasTaxa = taxa.some((taxon) => taxon !== '');
  const near = proteins.filter(({ steps }) => steps === 1).length;
  if (near === 0) return <p class="muted">This protein has no neighbour in the graph of the database.</p>;
  return (
    <>
      <div class="facts">
        <p class="small">
          {proteins[0].id} has {counted(near, 'neighbour')}, and those have{' '}
          {(proteins.length - 1 - near).toLocaleString('en')} further ones
          {leftOut > 0 && ` (${leftOut.toLocaleString('en')} more are not shown)`}. Choose one to walk there.
        </p>
        {hasTaxa && form === 'picture' && (
          <Choices
            label="Colours"
            titles={{ evalue: 'By E-value', taxon: 'By organism' }}
            chosen={colouring}
            onChoose={setColouring}
          />
        )}
        <Choices
          label="Form"
          titles={{ picture: 'Picture', table: 'Table' }}
          chosen={form}
          onChoose={setForm}
        />
      </div>
      {form === 'picture' ? (
        <Picture
          neighbourhood={neighbourhood}
          hitIds={hitIds}
          onWalk={onWalk}
          taxa={colouring === 'taxon' ? taxa : undefined}
        />
      ) : (
        <NeighbourTable neighbourhood={neighbourhood} hitIds={hitIds} onWalk={onWalk} />
      )}
    </>
  );
}

interface ChoicesProps<Name extends string> {
  readonly label: string;
  readonly titles: Readonly<Record<Name, string>>;
  readonly chosen: Name;
  readonly onChoose: (name: Name) => void;
}

function Choices<Name extends string>({ label, titles, chosen, onChoose }: ChoicesProps<Name>) {
  return (
    <div class="segments" role="group" aria-label={label}>
      {(Object.keys(titles) as Name[]).map((each) => (
        <button key={each} type="button" aria-pressed={chosen === each} onClick={() => onChoose(each)}>
          {titles[each]}
        </button>
      ))}
    </div>
  );
}

interface PictureProps extends DrawnProps {
  /** Organism of each protein, where they give the colours. */
  readonly taxa: readonly string[] | undefined;
}

/** Proteins and edges. One protein has the focus; the arrow keys move it, and Enter walks. */
function Picture({ neighbourhood, hitIds, onWalk, taxa }: PictureProps) {
  const { proteins, edges } = neighbourhood;
  const points = useMemo(() => layout(neighbourhood), [neighbourhood]);
  const logEs = useMemo(() => centreLogEs(neighbourhood), [neighbourhood]);
  const [focus, setFocus] = useState(0);
  const picture = useRef<SVGSVGElement>(null);
  const colours = taxa && coloursOf(taxa);
  const moveOrWalk = (event: KeyboardEvent, at: number): void => {
    if (event.key === 'Enter' && at > 0) onWalk(proteins[at].id);
    const next = nextPoint(points, at, event.key);
    if (next === undefined) return;
    event.preventDefault();
    setFocus(next);
    picture.current?.querySelector<SVGElement>(`[data-at="${next}"]`)?.focus();
  };
  return (
    <>
      <svg
        ref={picture}
        viewBox={`0 0 ${FRAME.width} ${FRAME.height}`}
        role="group"
        aria-label={`Neighbourhood of ${proteins[0].id}`}
      >
        <NeighbourhoodEdges edges={edges} points={points} />
        {proteins.map(({ id, steps, attributes }, at) => {
          const words = wordsOf(id, attributes, logEs[at], steps);
          return (
            <circle
              key={id}
              data-at={at}
              cx={points[at].x}
              cy={points[at].y}
              r={[9, 6, 4][steps]}
              class={`protein-dot fill s${surprise({ logE: logEs[at] })} ${hitIds.has(id) ? 'is-hit' : ''}`}
              style={colours && { fill: colours.get(taxa[at]) ?? colours.get('') }}
              role="button"
              tabindex={at === focus ? 0 : -1}
              aria-label={words}
              onFocus={() => setFocus(at)}
              onClick={() => at > 0 && onWalk(id)}
              onKeyDown={(event) => moveOrWalk(event, at)}
            >
              <title>{words}</title>
            </circle>
          );
        })}
        <text class="dot-name" x={points[0].x + 12} y={points[0].y + 4}>
          {proteins[0].id}
        </text>
      </svg>
      <p class="small" role="status">
        {wordsOf(proteins[focus].id, proteins[focus].attributes, logEs[focus], proteins[focus].steps)}
      </p>
      <Legend colours={colours} />
    </>
  );
}

function Legend({ colours }: { readonly colours: ReadonlyMap<string, string> | undefined }) {
  const words = 'A ring marks a hit of the query.';
  if (colours === undefined) return <SurpriseLegend words={words} />;
  return (
    <p class="dot-legend small muted">
      {[...colours].map(([taxon, colour]) => (
        <span key={taxon}>
          <i class="dot" style={{ background: colour }} aria-hidden="true" />
          &nbsp;{taxon === '' ? 'other, or unknown' : taxon}
        </span>
      ))}
      <span>{words}</span>
    </p>
  );
}

function NeighbourTable({ neighbourhood, hitIds, onWalk }: DrawnProps) {
  const { proteins } = neighbourhood;
  const logEs = useMemo(() => centreLogEs(neighbourhood), [neighbourhood]);
  return (
    <PlainTable head={['Protein', 'Description', 'Steps', `E-value with ${proteins[0].id}`, 'Hit']}>
      {proteins.slice(1).map(({ id, steps, attributes }, at) => (
        <tr key={id}>
          <td>
            <button type="button" class="link" onClick={() => onWalk(id)}>
              {id}
            </button>
          </td>
          <td>{describedBy(attributes).description}</td>
          <td class="number">{steps}</td>
          <td class="number">{logEs[at + 1] === undefined ? '' : eValue(logEs[at + 1]!)}</td>
          <td>{hitIds.has(id) ? 'yes' : ''}</td>
        </tr>
      ))}
    </PlainTable>
  );
}

/** ln E of each protein with the centre; undefined for the centre and for proteins at two steps. */
function centreLogEs({ proteins, edges }: Neighbourhood): readonly (number | undefined)[] {
  const logEs: (number | undefined)[] = proteins.map(() => undefined);
  for (const { source, target, log_expected_false_hits: logE } of edges) {
    if (source === 0) logEs[target] = logE;
    if (target === 0) logEs[source] = logE;
  }
  return logEs;
}

type Attributes = Neighbourhood['proteins'][number]['attributes'];

function wordsOf(id: string, attributes: Attributes, logE: number | undefined, steps: number): string {
  const { description, organism } = describedBy(attributes);
  const place = ['in the middle', 'a neighbour', 'a neighbour of a neighbour'][steps];
  const words = [
    id,
    description,
    organism,
    place,
    ...(logE === undefined ? [] : [`E-value ${eValue(logE)}`]),
  ];
  return words.filter((each) => each !== '').join(', ');
}

/** Organisms that get a colour of their own: the most frequent ones. */
const COLOURED_MAX_COUNT = 7;

/** The organism of a protein; empty if it is unknown. */
function taxonOf(attributes: Attributes): string {
  return describedBy(attributes).organism;
}

/** Colours of the most frequent organisms, and one for all others under the empty name. */
function coloursOf(taxa: readonly string[]): ReadonlyMap<string, string> {
  const counts = new Map<string, number>();
  for (const taxon of taxa) if (taxon !== '') counts.set(taxon, (counts.get(taxon) ?? 0) + 1);
  const frequent = [...counts]
    .sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1))
    .slice(0, COLOURED_MAX_COUNT);
  const hues = frequent.map(([taxon], at): [string, string] => [
    taxon,
    `hsl(${(225 + (at * 360) / COLOURED_MAX_COUNT) % 360} 48% 52%)`,
  ]);
  return new Map([...hues, ['', 'var(--s0)']]);
}
