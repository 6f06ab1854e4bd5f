import { createHash } from 'node:crypto';
import { scientific } from '../../pipelines/domains/tables.js';
import type { AnnotatedProtein, Domain } from '../../pipelines/domains/tables.js';

/** What the summary page says about the annotation. */
interface SummaryHead {
  readonly database: string;
  readonly releaseId: string;
  readonly maxEValue: number;
  /** Name of the annotation that the proteins were compared with. */
  readonly against?: string;
}

const FAMILY_COLUMNS = ['family', 'name', 'description'];
const LISTED_FAMILIES = 50;
const LISTED_ARCHITECTURES = 30;
/** Width of the longest drawn protein. Unit: pixels */
const DRAWING_WIDTH = 640;

interface Architecture {
  readonly names: string;
  readonly example: AnnotatedProtein;
  count: number;
}

/**
 * Returns one page that any browser opens without a network: how many proteins have a domain, the most frequent
 * families, and the most frequent architectures, each drawn with the first protein that has it.
 */
export function summaryPage(head: SummaryHead, proteins: Iterable<AnnotatedProtein>): string {
  const families = new Map<string, FamilyRow>();
  const architectures = new Map<string, Architecture>();
  let [count, annotated, domains, residues, covered] = [0, 0, 0, 0, 0];
  const fresh = { domains: 0, proteins: 0, lone: 0 };
  for (const protein of proteins) {
    count += 1;
    residues += protein.length;
    if (protein.domains.length === 0) continue;
    annotated += 1;
    domains += protein.domains.length;
    covered += protein.domains.reduce((sum, { start, end }) => sum + end - start, 0);
    const freshCount = countNew(protein.domains);
    fresh.domains += freshCount;
    fresh.proteins += freshCount > 0 ? 1 : 0;
    fresh.lone += protein.hasGiven === false ? 1 : 0;
    const names = protein.domains.map(({ family }) => family.name).join(' – ');
    const architecture = architectures.get(names) ?? { names, example: protein, count: 0 };
    architecture.count += 1;
    architectures.set(names, architecture);
    for (const id of new Set(protein.domains.map(({ family }) => family.id))) {
      const own = protein.domains.filter(({ family }) => family.id === id);
      const row = families.get(id) ?? { domain: own[0], proteins: 0, domains: 0, fresh: 0 };
      row.proteins += 1;
      row.domains += own.length;
      row.fresh += countNew(own);
      families.set(id, row);
    }
  }
  const facts: readonly (readonly [string, string])[] = [
    ['proteins', count.toLocaleString('en')],
    ['with a domain', `${annotated.toLocaleString('en')} (${share(annotated, count)})`],
    ['domains', domains.toLocaleString('en')],
    ['residues in domains', share(covered, residues)],
    ['families found', families.size.toLocaleString('en')],
    ...againstFacts(head.against, fresh),
    ['database', head.database],
    ['release', head.releaseId],
    ['E-value of a domain', `at most ${head.maxEValue}`],
  ];
  const isCompared = head.against !== undefined;
  const ranked = [...families.values()].sort(
    (a, b) => b.proteins - a.proteins || (a.domain.family.id < b.domain.family.id ? -1 : 1),
  );
  const common = [...architectures.values()].sort(
    (a, b) => b.count - a.count || (a.names < b.names ? -1 : 1),
  );
  return page(`Domains by ${head.database}`, [
    `<dl>${facts.map(([name, value]) => `<dt>${name}</dt><dd>${markup(value)}</dd>`).join('')}</dl>`,
    section('Most frequent families', ranked.length, LISTED_FAMILIES),
    `<table><thead><tr>${FAMILY_COLUMNS.map((name) => `<th>${name}</th>`).join('')}`,
    `${countColumns(isCompared)
      .map((name) => `<th class="n">${name}</th>`)
      .join('')}</tr></thead>`,
    `<tbody>${ranked
      .slice(0, LISTED_FAMILIES)
      .map((row) => familyRow(row, isCompared))
      .join('')}</tbody></table>`,
    section('Most frequent architectures', common.length, LISTED_ARCHITECTURES),
    ...common.slice(0, LISTED_ARCHITECTURES).map(drawing),
  ]);
}

interface FamilyRow {
  readonly domain: Domain;
  proteins: number;
  domains: number;
  /** Domains that the given annotation does not have. */
  fresh: number;
}

function countColumns(isCompared: boolean): readonly string[] {
  return ['proteins', 'domains', ...(isCompared ? ['new'] : [])];
}

function countNew(domains: readonly Domain[]): number {
  return domains.filter(({ isNew }) => isNew).length;
}

/** What only this annotation has. */
function againstFacts(
  against: string | undefined,
  { domains, proteins, lone }: { readonly domains: number; readonly proteins: number; readonly lone: number },
): readonly (readonly [string, string])[] {
  if (against === undefined) return [];
  return [
    [
      `new against ${against}`,
      `${domains.toLocaleString('en')} domains in ${proteins.toLocaleString('en')} proteins`,
    ],
    [`without a domain in ${against}`, `${lone.toLocaleString('en')} of the proteins with a domain`],
    ['outlined', 'domains of which it covers less than half'],
  ];
}

function familyRow({ domain: { family }, proteins, domains, fresh }: FamilyRow, isCompared: boolean): string {
  const cells = [
    family.id,
    family.name,
    family.description ?? '',
    proteins,
    domains,
    ...(isCompared ? [fresh] : []),
  ].map(
    (cell) => `<td${typeof cell === 'number' ? ' class="n"' : ''}>${markup(cell.toLocaleString('en'))}</td>`,
  );
  return `<tr>${cells.join('')}</tr>\n`;
}

function section(title: string, count: number, most: number): string {
  return `<h2>${title}${count > most ? `, ${most} of ${count.toLocaleString('en')}` : ''}</h2>`;
}

/** Draws an architecture to scale. Each domain is labelled for screen readers and on hover. */
function drawing({ names, example, count }: Architecture): string {
  const { id, length, domains } = example;
  const scale = DRAWING_WIDTH / Math.max(1, length);
  const boxes = domains.map(({ family, start, end, logEValue, isNew }) => {
    const label = `${family.name} ${start + 1}–${end}, E = ${scientific(logEValue)}${isNew === true ? ', new' : ''}`;
    const [x, width] = [start * scale, Math.max(2, (end - start) * scale)].map((place) => place.toFixed(1));
    return (
      `<g><title>${markup(label)}</title><rect x="${x}" y="4" width="${width}" height="20" rx="4" ` +
      `fill="hsl(${hueOf(family.id)} 55% 55%)"${isNew === true ? ' class="new"' : ''}/></g>`
    );
  });
  return (
    `<figure><figcaption><b>${count.toLocaleString('en')}</b> ${markup(names)} ` +
    `<span>${markup(id)}, ${length.toLocaleString('en')} residues</span></figcaption>` +
    `<svg viewBox="0 0 ${DRAWING_WIDTH} 28" role="img" aria-label="${markup(`${id}: ${names}`)}">` +
    `<rect class="line" x="0" y="12" width="${DRAWING_WIDTH}" height="4"/>${boxes.join('')}</svg></figure>\n`
  );
}

/** The same family has the same colour in every drawing. */
function hueOf(id: string): number {
  return createHash('sha256').update(id).digest().readUInt16BE(0) % 360;
}

function share(part: number, whole: number): string {
  return `${((100 * part) / Math.max(1, whole)).toFixed(1)} %`;
}

function markup(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}

const STYLE = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1.5rem }
dt { opacity: .7 }
dd { margin: 0; overflow-wrap: anywhere }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; padding: .25rem .75rem .25rem 0; border-bottom: 1px solid #8884 }
.n { text-align: right; font-variant-numeric: tabular-nums }
figure { margin: 1rem 0 }
figcaption span { opacity: .7 }
svg { width: 100% }
.line { fill: #8888 }
.new { stroke: currentColor; stroke-width: 2 }
`;

/** A page on which no script runs and which loads nothing. */
function page(title: string, parts: readonly string[]): string {
  const digest = createHash('sha256').update(STYLE).digest('base64');
  const policy = `default-src 'none'; style-src 'sha256-${digest}'; base-uri 'none'; form-action 'none'`;
  return [
    '<!doctype html><html lang="en"><head><meta charset="utf-8">',
    `<meta http-equiv="Content-Security-Policy" content="${policy}">`,
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    `<title>${markup(title)}</title><style>${STYLE}</style></head><body><h1>${markup(title)}</h1>`,
    ...parts,
    '</body></html>\n',
  ].join('\n');
}
