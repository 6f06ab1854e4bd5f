import { useEffect, useState } from 'preact/hooks';
import type { Reference } from '../../clients/typescript/types/references.js';
import { ask, gloaming } from '../server/server.js';
import { counted } from '../parts/format.js';
import { looksLikeName, type Pasted } from './fasta.js';

interface QueryFieldProps {
  readonly text: string;
  readonly onText: (text: string) => void;
  readonly records: readonly Pasted[];
  /** Problem that the page detected. */
  readonly problem: string | undefined;
  /** Problem that the server reported. */
  readonly fault: string | undefined;
  readonly releaseId: string | undefined;
  readonly onExample: () => void;
  readonly onSubmit: () => void;
}

const FILE_MAX_BYTES = 50_000_000;

/** Input for a sequence, FASTA text, a dropped file, or the name of a protein in the databases. */
export function QueryField(props: QueryFieldProps) {
  const { text, onText, records, problem, fault, onExample, onSubmit } = props;
  const [isOver, setOver] = useState(false);
  const [fileFault, setFileFault] = useState<string>();
  const isName = looksLikeName(text);
  const take = (file: File | undefined): void => {
    if (file === undefined) return;
    setFileFault(undefined);
    readFile(file).then(onText, (error: Error) => setFileFault(error.message));
  };
  const drop = (event: DragEvent): void => {
    event.preventDefault();
    setOver(false);
    take(event.dataTransfer?.files[0]);
  };
  const hint = fileFault ?? fault ?? (isName ? undefined : problem);
  return (
    <div class="query-field">
      <label class="field">
        <span>Protein</span>
        <textarea
          class={isOver ? 'is-over' : ''}
          rows={9}
          spellcheck={false}
          autocapitalize="off"
          placeholder={'Paste a sequence or FASTA, drop a file, or type the name of a protein in a database'}
          value={text}
          aria-invalid={hint !== undefined}
          aria-describedby="query-hint"
          onInput={({ currentTarget: { value } }) => onText(value)}
          onDragOver={(event) => {
            event.preventDefault();
            setOver(true);
          }}
          onDragLeave={() => setOver(false)}
          onDrop={drop}
          onKeyDown={({ key, ctrlKey, metaKey }) => key === 'Enter' && (ctrlKey || metaKey) && onSubmit()}
        />
      </label>
      {isName && <Names {...props} />}
      <div class="query-foot">
        <p id="query-hint" class={hint === undefined ? 'small muted' : 'field-fault'} role="status">
          {hint ?? summary(records, isName)}
        </p>
        <div class="buttons">
          <button type="button" class="button quiet" onClick={onExample}>
            Example
          </button>
          <label class="button quiet file">
            Open a file
            <input
              type="file"
              accept=".fasta,.fa,.faa,.txt,.gz"
              onChange={({ currentTarget }) => take(currentTarget.files?.[0])}
            />
          </label>
        </div>
      </div>
    </div>
  );
}

function summary(records: readonly Pasted[], isName: boolean): string {
  if (records.length === 0 || isName) return 'Ctrl + Enter searches.';
  const residues = records.reduce((sum, { sequence }) => sum + sequence.length, 0);
  const what = records.length === 1 ? records[0].id : counted(records.length, 'protein');
  return `${what}, ${counted(residues, 'residue')}`;
}

/** Reads a file as text, gzip included. Errors  rejects with a sentence for the visitor */
async function readFile(file: File): Promise<string> {
  if (file.size > FILE_MAX_BYTES) {
    throw new Error(
      'The file is larger than 50 MB. Submit it with "gloaming runs submit" on the command line.',
    );
  }
  const isGzip = file.name.endsWith('.gz');
  const stream = isGzip ? file.stream().pipeThrough(new DecompressionStream('gzip')) : file.stream();
  const text = await new Response(stream).text().catch(() => {
    throw new Error(`${file.name} is not a gzip file.`);
  });
  if (text.includes('\0')) throw new Error(`${file.name} is not a text file.`);
  return text;
}

const PATIENCE_MS = 200;

/** Suggests proteins of the databases with this name. A click puts the sequence of a protein into the field. */
function Names({ text, onText }: Pick<QueryFieldProps, 'text' | 'onText'>) {
  const [references, setReferences] = useState<readonly Reference[]>();
  const name = text.trim();
  useEffect(() => {
    const closing = new AbortController();
    const timer = setTimeout(() => {
      gloaming.call('refs.resolve', { body: { query: name, limit: 8 }, signal: closing.signal }).then(
        ({ data }) => setReferences(data.references.filter(({ kind }) => kind === 'target')),
        // If a name cannot be looked up, the search refuses it as a sequence.
        () => undefined,
      );
    }, PATIENCE_MS);
    return () => {
      clearTimeout(timer);
      closing.abort();
    };
  }, [name]);
  const choose = ({ id, database_release_id: release = '' }: Reference): void => {
    const query = new URLSearchParams({ release, id });
    void ask<{ readonly description: string; readonly sequence: string }>(
      'GET',
      `protein?${query.toString()}`,
    ).then(({ description, sequence }) =>
      onText(`>${id} ${description}\n${sequence.replace(/.{1,60}/g, '$&\n')}`),
    );
  };
  if (references === undefined) return null;
  if (references.length === 0) return <p class="small muted">No protein in the databases has this name.</p>;
  return (
    <ul class="names" aria-label="Proteins of this name">
      {references.map((reference) => (
        <li key={`${reference.database_release_id ?? ''} ${reference.id}`}>
          <button type="button" onClick={() => choose(reference)}>
            <b>{reference.id}</b> {reference.name === reference.id ? '' : reference.name}{' '}
            <span class="muted">
              {reference.description} {reference.database_slug}
            </span>
          </button>
        </li>
      ))}
    </ul>
  );
}
