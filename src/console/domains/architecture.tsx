import type { ProteinAnnotation } from '../../clients/typescript/types/runs.js';
import { domainWords, hueOf, type AnnotatedDomain } from './annotation.js';

export interface ArchitectureProps {
  readonly protein: ProteinAnnotation;
  /** Residues that the width of the drawing stands for. */
  readonly scale: number;
  /** Family whose domains stand out; undefined for all. */
  readonly familyId: string | undefined;
  readonly onShow: (domain: AnnotatedDomain | undefined) => void;
  readonly onChoose: (domain: AnnotatedDomain) => void;
}

/**
 * Draws a protein to scale with its domains. Tab reaches the protein, the arrow keys its domains, and those above and
 * below.
 */
export function Architecture({ protein, scale, familyId, onShow, onChoose }: ArchitectureProps) {
  const share = (residues: number): string => `${(100 * residues) / scale}%`;
  const move = (event: KeyboardEvent): void => {
    const next = neighbourOf(event.target as HTMLElement, event.key);
    if (next === undefined) return;
    event.preventDefault();
    next.focus();
  };
  return (
    <div
      class="architecture"
      role="group"
      aria-label={`Domains of ${protein.query_id}`}
      style={{ width: share(protein.length) }}
      onKeyDown={move}
    >
      {protein.domains.map((domain, at) => (
        <button
          key={`${domain.start} ${domain.family.id}`}
          type="button"
          class={`domain${familyId === undefined || familyId === domain.family.id ? '' : ' faint'}`}
          tabIndex={at === 0 ? 0 : -1}
          aria-label={domainWords(domain)}
          style={{
            left: `${(100 * domain.start) / protein.length}%`,
            width: `${(100 * (domain.end - domain.start)) / protein.length}%`,
            '--hue': hueOf(domain.family.id),
          }}
          onMouseEnter={() => onShow(domain)}
          onMouseLeave={() => onShow(undefined)}
          onFocus={() => onShow(domain)}
          onBlur={() => onShow(undefined)}
          onClick={() => onChoose(domain)}
        >
          {domain.family.name}
        </button>
      ))}
    </div>
  );
}

/** The domain that an arrow key leads to; undefined for another key and at an end. */
function neighbourOf(domain: HTMLElement, key: string): HTMLElement | undefined {
  const beside = { ArrowLeft: domain.previousElementSibling, ArrowRight: domain.nextElementSibling }[key];
  if (beside !== undefined) return (beside as HTMLElement | null) ?? undefined;
  const step = { ArrowUp: -1, ArrowDown: 1 }[key];
  if (step === undefined) return undefined;
  const proteins = [...document.querySelectorAll<HTMLElement>('.architecture')].filter(
    (each) => each.childElementCount > 0,
  );
  const place = proteins.findIndex((each) => each.contains(domain));
  return (proteins[place + step]?.firstElementChild as HTMLElement | null | undefined) ?? undefined;
}
