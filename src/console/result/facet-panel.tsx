import { useMemo, useState } from 'preact/hooks';
import { count } from '../parts/format.js';
import { facetsOf, toggled, type Choice, type Facet } from './facets.js';
import type { Hit } from './hits.js';
import { lineageField } from './taxonomy.js';

interface FacetAsideProps {
  readonly hits: readonly Hit[];
  /** Names of all attributes of the hits. */
  readonly fields: readonly string[];
  readonly choice: Choice;
  readonly onChoice: (choice: Choice) => void;
  /** True on a narrow page, where the facets are a drawer. */
  readonly isNarrow: boolean;
}

/** Facets of every attribute except the name, and the lineage, which has its own chart. */
export function FacetAside({ hits, fields, choice, onChoice, isNarrow }: FacetAsideProps) {
  const [open, setOpen] = useState<readonly string[]>([]);
  const taxa = lineageField(hits);
  const shown = fields.filter((field) => field !== 'name' && field !== taxa);
  const facets = useMemo(() => facetsOf(hits, choice, shown, open), [hits, choice, fields, open]);
  const lengths = hits.map(({ length }) => length);
  const panel = (
    <FacetPanel
      facets={facets}
      choice={choice}
      onChoice={onChoice}
      lengths={[Math.min(...lengths), Math.max(...lengths)]}
      onOpen={(field) => setOpen((before) => [...before, field])}
    />
  );
  return (
    <aside aria-label="Filter the hits">
      {isNarrow ? (
        <details class="facet-drawer">
          <summary class="button">Filter</summary>
          {panel}
        </details>
      ) : (
        panel
      )}
    </aside>
  );
}

interface FacetPanelProps {
  readonly facets: readonly Facet[];
  readonly choice: Choice;
  readonly onChoice: (choice: Choice) => void;
  /** Shortest and longest length of all hits. Unit  residues */
  readonly lengths: readonly [number, number];
  /** Lists all values of a field. */
  readonly onOpen: (field: string) => void;
}

/** Filters the hits. The counts of a field are over the hits that pass all other filters. */
function FacetPanel({ facets, choice, onChoice, lengths, onOpen }: FacetPanelProps) {
  const lengthField = (name: 'minLength' | 'maxLength', label: string, placeholder: number) => (
    <input
      type="number"
      inputMode="numeric"
      min={1}
      aria-label={label}
      placeholder={String(placeholder)}
      value={choice[name] ?? ''}
      onInput={({ currentTarget: { value } }) =>
        onChoice({ ...choice, [name]: value === '' ? undefined : Number(value) })
      }
    />
  );
  return (
    <div class="facets">
      <label class="facet">
        <h3>Find</h3>
        <input
          type="search"
          placeholder="id, name, organism"
          value={choice.text}
          onInput={({ currentTarget: { value } }) => onChoice({ ...choice, text: value })}
        />
      </label>
      <fieldset class="facet">
        <legend>Length</legend>
        <div class="range">
          {lengthField('minLength', 'Residues at least', lengths[0])}
          <span aria-hidden="true">to</span>
          {lengthField('maxLength', 'Residues at most', lengths[1])}
        </div>
      </fieldset>
      {facets.map((facet) => (
        <fieldset class="facet" key={facet.field}>
          <legend>{facet.field.replaceAll('_', ' ')}</legend>
          {facet.values.map(({ value, count: hits, isChosen }) => (
            <label class="facet-value" key={value}>
              <input
                type="checkbox"
                checked={isChosen}
                onChange={() => onChoice(toggled(choice, facet.field, value))}
              />
              <span class="clip" title={value}>
                {value}
              </span>
              <span class="muted number">{count(hits)}</span>
            </label>
          ))}
          {facet.moreCount > 0 && (
            <button type="button" class="link small" onClick={() => onOpen(facet.field)}>
              and {count(facet.moreCount)} more
            </button>
          )}
        </fieldset>
      ))}
    </div>
  );
}
