import { count } from '../parts/format.js';
import { toggled, type Choice, type Facet } from './facets.js';

interface FacetPanelProps {
  readonly facets: readonly Facet[];
  readonly choice: Choice;
  readonly onChoice: (choice: Choice) => void;
  /** Shortest and longest of all hits. */
  readonly lengths: readonly [number, number];
}

/** What of the hits to show; each field counts what the others let through. */
export function FacetPanel({ facets, choice, onChoice, lengths }: FacetPanelProps) {
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
          placeholder="id, name or organism"
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
          {facet.moreCount > 0 && <p class="small muted">and {count(facet.moreCount)} more</p>}
        </fieldset>
      ))}
    </div>
  );
}
