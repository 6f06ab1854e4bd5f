import { addSearch } from './search-field.js';
import { addThemeButton } from './theme-button.js';

/** Script of the manual: search, colours, and a button beside each block of code. The pages are readable without it. */
const frame = document.querySelector<HTMLElement>('.manual-search');
if (frame !== null) addSearch(frame);
const place = document.querySelector('[data-theme-button]');
if (place !== null) addThemeButton(place);
for (const block of document.querySelectorAll<HTMLPreElement>('pre.sh, pre.python, pre.json'))
  addCopyButton(block);

/** Copies a block without the outputs that comments show. Without TLS, browsers offer no clipboard, so no button. */
function addCopyButton(block: HTMLPreElement): void {
  const { clipboard } = navigator;
  if (clipboard === undefined) return;
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'button quiet small copy';
  button.textContent = 'Copy';
  button.setAttribute('aria-live', 'polite');
  button.addEventListener('click', () => {
    void clipboard.writeText(block.innerText.trimEnd()).then(() => {
      button.textContent = 'Copied';
      setTimeout(() => (button.textContent = 'Copy'), 1500);
    });
  });
  const holder = document.createElement('div');
  holder.className = 'code';
  block.replaceWith(holder);
  holder.append(block, button);
}
