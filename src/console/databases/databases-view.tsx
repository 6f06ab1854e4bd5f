import { useState } from 'preact/hooks';
import type { HomologyDatabase, HomologyRelease } from '../../clients/typescript/types/homology.js';
import { CodePanel } from '../parts/code-panel.js';
import { CopyButton } from '../parts/copy.js';
import { count, counted, moment, shortId } from '../parts/format.js';
import { allOf, useLoaded } from '../parts/load.js';
import { Await } from '../parts/notice.js';
import { PlainTable } from '../parts/plain-table.js';
import { hrefTo } from '../parts/route.js';
import { snippetsOf } from '../parts/snippets.js';
import { ask, gloaming } from '../server/server.js';
import { OPERATORS } from '../search/filter.js';
import { CalibrationChart, type CalibrationCard } from './calibration-chart.js';
import { JobsPanel } from './jobs-panel.js';

interface DatabasesViewProps {
  readonly selected: string | undefined;
  /** Only an operator sees the commands that run on the server's machine. */
  readonly isOperator: boolean;
}

/** Lists databases, releases and current builds, and shows the details of the selected release. */
export function DatabasesView({ selected, isOperator }: DatabasesViewProps) {
  const [round, setRound] = useState(0);
  const loaded = useLoaded(
    async (signal) => {
      const answer = ask<{ readonly releases: readonly string[] }>('GET', 'calibrated', undefined, signal);
      const [databases, calibrated] = await Promise.all([allOf(gloaming.databases({ signal })), answer]);
      return Promise.all(
        databases.map(async (database) => ({
          database,
          releases: (await allOf(gloaming.releases(database.slug, { signal }))).map((release) => ({
            ...release,
            hasEValues: calibrated.releases.includes(release.id),
          })),
        })),
      );
    },
    [round],
  );
  return (
    <section class="page">
      <header class="page-head">
        <h1>Databases</h1>
      </header>
      {isOperator && <JobsPanel onEnded={() => setRound((before) => before + 1)} />}
      <Await loaded={loaded}>{(all) => <Releases all={all} selected={selected} />}</Await>
    </section>
  );
}

interface ListedRelease extends HomologyRelease {
  readonly hasEValues: boolean;
}

interface ReleasesProps {
  readonly all: readonly {
    readonly database: HomologyDatabase;
    readonly releases: readonly ListedRelease[];
  }[];
  readonly selected: string | undefined;
}

function Releases({ all, selected }: ReleasesProps) {
  const releases = all.flatMap((each) => each.releases);
  const shown =
    releases.find(({ id, database_slug: slug }) => id === selected || slug === selected) ?? releases[0];
  return (
    <>
      {all.length === 0 && (
        <div class="empty">
          <h2>No databases yet</h2>
          <p class="muted">
            On the server: <code>gloaming index build proteins.fasta.gz --name mylab</code>
          </p>
        </div>
      )}
      <ul class="cards">
        {all.map(({ database, releases: own }) => (
          <li key={database.id}>
            <h2>
              {database.slug}
              {database.is_default && <span class="badge">default database</span>}
            </h2>
            <Description {...database} />
            <ul class="plain">
              {own.map((release) => (
                <li key={release.id}>
                  <a
                    href={hrefTo(['databases', release.id])}
                    aria-current={release === shown ? 'true' : undefined}
                  >
                    {counted(release.target_count, 'protein')}, {moment(release.published_at)}
                  </a>
                  <span class={release.hasEValues ? 'badge completed' : 'badge'}>
                    {release.hasEValues ? 'E-values' : 'no E-values'}
                  </span>
                  {release.is_default && own.length > 1 && <span class="badge">default release</span>}
                </li>
              ))}
            </ul>
          </li>
        ))}
      </ul>
      {shown !== undefined && <ReleaseView key={shown.id} release={shown} />}
    </>
  );
}

/** Title and description, without what repeats the name of the database. */
function Description({ slug, title, description }: HomologyDatabase) {
  const lines = [title, description].filter((line) => line !== '' && line !== slug);
  return (
    <>
      {[...new Set(lines)].map((line) => (
        <p key={line} class="muted">
          {line}
        </p>
      ))}
    </>
  );
}

function ReleaseView({ release }: { readonly release: HomologyRelease }) {
  const query = new URLSearchParams({ release: release.id });
  const loaded = useLoaded(
    (signal) =>
      ask<{ readonly card: CalibrationCard | null }>(
        'GET',
        `calibration?${query.toString()}`,
        undefined,
        signal,
      ),
    [release.id],
  );
  const facts: readonly (readonly [string, string])[] = [
    ['Proteins', count(release.target_count)],
    ['Residues', count(release.residue_count)],
    ['Encoder', `${release.encoder_id}, ${release.dimension} dimensions per residue`],
    ['Published', moment(release.published_at)],
  ];
  const call = `for await (const { id } of gloaming.releases('${release.database_slug}')) console.log(id);`;
  return (
    <article class="release" aria-label={`Release ${shortId(release.id)} of ${release.database_slug}`}>
      <h2>
        {release.database_slug} {release.is_simulated && <span class="badge">simulated proteins</span>}
      </h2>
      <dl class="pairs">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
        <div>
          <dt>Release</dt>
          <dd>
            <span title={release.id}>{shortId(release.id)}</span>{' '}
            <CopyButton text={release.id} label="Copy id" />
          </dd>
        </div>
      </dl>
      <h3>Attributes to filter by</h3>
      <div class="attributes">
        <PlainTable head={['Attribute', 'Type', 'Conditions', 'As JSON']}>
          {release.filter_fields.map((field) => (
            <FieldRow key={field.name} field={field} />
          ))}
        </PlainTable>
      </div>
      <h3>Calibration of its E-values</h3>
      <Await loaded={loaded}>
        {({ card }) =>
          card === null ? (
            <p class="muted">
              This release has no calibration, so its searches give no E-values. On the server:{' '}
              <code>gloaming index calibrate {release.database_slug}</code>
            </p>
          ) : (
            <CalibrationChart card={card} />
          )
        }
      </Await>
      <CodePanel
        snippets={snippetsOf({
          method: 'GET',
          path: `/v1/homology/databases/${release.database_slug}/releases`,
          call,
        })}
      />
    </article>
  );
}

/** Names of the attribute types. */
const TYPES: Readonly<Record<string, string>> = {
  string: 'text',
  string_list: 'texts',
  integer: 'whole number',
  number: 'number',
  boolean: 'true or false',
};

function FieldRow({ field }: { readonly field: HomologyRelease['filter_fields'][number] }) {
  const op = field.operators.includes('contains') ? 'contains' : 'eq';
  const filter = JSON.stringify({ op, field: field.name, value: field.type === 'boolean' ? 'true' : '…' });
  return (
    <tr>
      <td>
        <b>{field.name}</b>
      </td>
      <td class="muted">{field.is_taxonomy ? 'taxon' : (TYPES[field.type] ?? field.type)}</td>
      <td class="muted small">{field.operators.map((each) => OPERATORS[each] ?? each).join(', ')}</td>
      <td>
        <CopyButton text={filter} label="Copy filter" />
      </td>
    </tr>
  );
}
