import type { Inks } from './paint.js';

/** Reads the colours of the style sheet, because a canvas cannot use a style sheet. */
export function inksOf(element: Element): Inks {
  const { color, accentColor } = getComputedStyle(element);
  return { text: color, accent: accentColor };
}
