import { useId, useState } from 'preact/hooks';
import { count } from '../parts/format.js';
import { ask } from '../server/server.js';
import { OPERATORS, takesSeveral, takesValue, type Clause, type FilterField } from './filter.js';

interface FilterBuilderProps {
  readonly fields: readonly FilterField[];
  readonly releaseId: string;
  readonly clauses: readonly Clause[];
  readonly joined: 'and' | 'or';
  readonly onChange: (clauses: readonly Clause[], joined: 'and' | 'or') => void;
  /** Error message of the server for a clause, by its position. */
  readonly faults: ReadonlyMap<number, string>;
}

/** Builds a filter that restricts which proteins are compared. */
export function FilterBuilder({ fields, releaseId, clauses, joined, onChange, faults }: FilterBuilderProps) {
  const [first] = fields;
  if (first === undefined)
    return <p class="muted">The proteins of this database have no attributes to filter by.</p>;
  const add = (): void =>
    onChange([...clauses, { field: first.name, op: firstOperator(first), value: '' }], joined);
  const put = (index: number, clause: Clause): void =>
    onChange(
      clauses.map((each, at) => (at === index ? clause : each)),
      joined,
    );
  return (
    <div class="filter-builder">
      {clauses.length > 1 && (
        <div class="segments" role="group" aria-label="How conditions are joined">
          <button type="button" aria-pressed={joined === 'and'} onClick={() => onChange(clauses, 'and')}>
            All hold
          </button>
          <button type="button" aria-pressed={joined === 'or'} onClick={() => onChange(clauses, 'or')}>
            Any holds
          </button>
        </div>
      )}
      {clauses.map((clause, index) => (
        <ClauseLine
          key={index}
          clause={clause}
          fields={fields}
          releaseId={releaseId}
          fault={faults.get(index)}
          onChange={(next) => put(index, next)}
          onRemove={() =>
            onChange(
              clauses.filter((_, at) => at !== index),
              joined,
            )
          }
        />
      ))}
      <button type="button" class="button quiet" onClick={add}>
        Add a condition
      </button>
    </div>
  );
}

function firstOperator({ operators, type, is_taxonomy: isTaxonomy }: FilterField): string {
  if (isTaxonomy) return 'descends_from';
  const operator = type === 'string_list' || type === 'string' ? 'contains' : 'eq';
  return operators.includes(operator) ? operator : (operators[0] ?? 'eq');
}

interface ClauseLineProps {
  readonly clause: Clause;
  readonly fields: readonly FilterField[];
  readonly releaseId: string;
  readonly fault: string | undefined;
  readonly onChange: (clause: Clause) => void;
  readonly onRemove: () => void;
}

function placeholderOf(op: string): string {
  if (op === 'descends_from') return 'a taxon, such as Bacteria';
  return takesSeveral(op) ? 'values, separated by commas' : 'value';
}

interface CountedValue {
  readonly value: string;
  readonly name?: string;
  readonly count: number;
}

function ClauseLine({ clause, fields, releaseId, fault, onChange, onRemove }: ClauseLineProps) {
  const list = useId();
  const [values, setValues] = useState<readonly CountedValue[]>([]);
  const field = fields.find(({ name }) => name === clause.field) ?? fields[0];
  const complete = (typed: string): void => {
    const text = takesSeveral(clause.op) ? (typed.split(',').at(-1) ?? '').trim() : typed;
    const query = new URLSearchParams({ release: releaseId, field: field.name, text });
    if (clause.op === 'descends_from') query.set('below', '');
    // Completions are optional: if they fail to load, the value can still be typed.
    ask<{ readonly values: readonly CountedValue[] }>('GET', `values?${query.toString()}`).then(
      (answer) => setValues(answer.values),
      () => setValues([]),
    );
  };
  return (
    <div class="clause">
      <select
        aria-label="Attribute"
        value={field.name}
        onChange={({ currentTarget: { value } }) => {
          const next = fields.find(({ name }) => name === value) ?? field;
          const op = next.operators.includes(clause.op) ? clause.op : firstOperator(next);
          onChange({ ...clause, field: next.name, op });
        }}
      >
        {fields.map(({ name }) => (
          <option key={name} value={name}>
            {name.replaceAll('_', ' ')}
          </option>
        ))}
      </select>
      <select
        aria-label="Condition"
        value={clause.op}
        onChange={({ currentTarget: { value } }) => onChange({ ...clause, op: value })}
      >
        {field.operators.map((op) => (
          <option key={op} value={op}>
            {OPERATORS[op] ?? op}
          </option>
        ))}
      </select>
      {takesValue(clause.op) && (
        <input
          type="text"
          aria-label="Value"
          aria-invalid={fault !== undefined}
          list={list}
          value={clause.value}
          placeholder={placeholderOf(clause.op)}
          onFocus={() => complete(clause.value)}
          onInput={({ currentTarget: { value } }) => {
            onChange({ ...clause, value });
            complete(value);
          }}
        />
      )}
      <datalist id={list}>
        {values.map(({ value, name, count: proteins }) => (
          <option key={value} value={value}>
            {name === undefined ? '' : `${name}, `}
            {count(proteins)} proteins
          </option>
        ))}
      </datalist>
      <button type="button" class="button quiet icon" onClick={onRemove} aria-label="Remove this condition">
        ×
      </button>
      {fault !== undefined && <p class="field-fault">{fault}</p>}
    </div>
  );
}
