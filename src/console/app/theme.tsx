import { useEffect, useState } from 'preact/hooks';

const THEMES = ['auto', 'light', 'dark'] as const;
type Theme = (typeof THEMES)[number];
const KEY = 'gloaming-theme';

/** Cycles through the themes: that of the system, light, dark. */
export function ThemeButton() {
  const [theme, setTheme] = useState<Theme>(() => (localStorage.getItem(KEY) as Theme | null) ?? 'auto');
  useEffect(() => {
    document.documentElement.dataset['theme'] = theme;
    localStorage.setItem(KEY, theme);
  }, [theme]);
  const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
  return (
    <button
      type="button"
      class="button quiet icon"
      onClick={() => setTheme(next)}
      title={`Colours: ${theme}`}
      aria-label={`Colours: ${theme}. Switch to ${next}`}
    >
      {{ auto: '◐', light: '☀', dark: '☾' }[theme]}
    </button>
  );
}
