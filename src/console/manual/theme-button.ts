const THEMES = ['auto', 'light', 'dark'];
const SIGNS: Readonly<Record<string, string>> = { auto: '◐', light: '☀', dark: '☾' };
/** The console stores its choice under the same name. */
const KEY = 'gloaming-theme';

/** Cycles through the colours of the system, light and dark. */
export function addThemeButton(place: Element): void {
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'button quiet icon';
  let theme = localStorage.getItem(KEY) ?? 'auto';
  const show = (): void => {
    document.documentElement.dataset['theme'] = theme;
    button.textContent = SIGNS[theme] ?? '◐';
    button.title = `Colours: ${theme}`;
    button.setAttribute('aria-label', `Colours: ${theme}. Switch to ${nextOf(theme)}`);
  };
  button.addEventListener('click', () => {
    theme = nextOf(theme);
    localStorage.setItem(KEY, theme);
    show();
  });
  show();
  place.append(button);
}

function nextOf(theme: string): string {
  return THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? 'auto';
}
