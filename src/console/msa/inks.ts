import type { Inks } from './paint.js';

/** The colours of the page, for a canvas, which knows no style sheet. */
export function inksOf(element: Element): Inks {
  const { color, accentColor } = getComputedStyle(element);
  return { text: color, accent: accentColor };
}
