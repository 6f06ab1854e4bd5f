import { excerptOf, findSections, type Section } from './find-sections.js';

/**
 * Adds the search field of the manual: a text field with a list of sections below it. The arrow keys choose a section,
 * Enter opens it, Escape closes the list, and `/` focuses the field from anywhere on the page.
 * @param frame  its attribute `data-index` is the address of the search index
 */
export function addSearch(frame: HTMLElement): void {
  const field = document.createElement('input');
  field.type = 'search';
  field.placeholder = 'Search the manual';
  for (const [name, value] of Object.entries({
    role: 'combobox',
    'aria-label': 'Search the manual',
    'aria-expanded': 'false',
    'aria-controls': 'found',
    'aria-autocomplete': 'list',
    autocomplete: 'off',
    spellcheck: 'false',
  }))
    field.setAttribute(name, value);
  const list = document.createElement('div');
  list.id = 'found';
  list.setAttribute('role', 'listbox');
  list.setAttribute('aria-label', 'Sections');
  list.hidden = true;
  const status = document.createElement('p');
  status.className = 'search-status';
  status.setAttribute('role', 'status');
  frame.append(field, list, status);

  let sections: Promise<readonly Section[]> | undefined;
  let chosen = 0;
  const close = (): void => {
    list.hidden = true;
    field.setAttribute('aria-expanded', 'false');
    field.removeAttribute('aria-activedescendant');
  };
  const choose = (at: number): void => {
    const options = [...list.children];
    if (options.length === 0) return;
    chosen = (at + options.length) % options.length;
    for (const [index, option] of options.entries()) {
      option.setAttribute('aria-selected', String(index === chosen));
      if (index === chosen) option.scrollIntoView({ block: 'nearest' });
    }
    field.setAttribute('aria-activedescendant', options[chosen]?.id ?? '');
  };
  const show = async (): Promise<void> => {
    const query = field.value;
    sections ??= loadSections(frame.dataset['index'] ?? '');
    const matching = findSections(await sections, query);
    // A later letter may have started another search.
    if (field.value !== query) return;
    list.replaceChildren(...matching.map((section, index) => optionOf(section, query, index)));
    status.textContent = query.trim() === '' ? '' : `${matching.length} sections`;
    if (matching.length === 0) return close();
    list.hidden = false;
    field.setAttribute('aria-expanded', 'true');
    choose(0);
  };
  field.addEventListener('input', () => void show());
  field.addEventListener('focus', () => void show());
  field.addEventListener('blur', () => setTimeout(close, 150));
  field.addEventListener('keydown', (event) => {
    if (event.key === 'ArrowDown') choose(chosen + 1);
    else if (event.key === 'ArrowUp') choose(chosen - 1);
    else if (event.key === 'Enter') (list.children[chosen] as HTMLElement | undefined)?.click();
    else if (event.key === 'Escape') return close();
    else return;
    event.preventDefault();
  });
  document.addEventListener('keydown', (event) => {
    if (event.key !== '/' || event.target instanceof HTMLInputElement) return;
    event.preventDefault();
    field.focus();
  });
}

/** An empty index if the file cannot be loaded: the list of pages still leads everywhere. */
async function loadSections(address: string): Promise<readonly Section[]> {
  const response = await fetch(address).catch(() => undefined);
  return response?.ok === true ? ((await response.json()) as readonly Section[]) : [];
}

function optionOf(section: Section, query: string, index: number): HTMLElement {
  const option = document.createElement('a');
  option.id = `found-${index}`;
  option.setAttribute('role', 'option');
  option.href = `${section.page === '' ? './' : section.page}#${section.anchor}`;
  option.tabIndex = -1;
  const heading = document.createElement('b');
  heading.textContent = section.heading;
  const place = document.createElement('span');
  place.textContent = section.heading === section.title ? '' : section.title;
  const excerpt = document.createElement('small');
  excerpt.textContent = excerptOf(section, query);
  option.append(heading, place, excerpt);
  return option;
}
