import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

interface MenuProps {
  readonly label: ComponentChildren;
  readonly children: ComponentChildren;
  /** Edge of the button that the panel is aligned with. */
  readonly side?: 'left' | 'right';
}

/** A button with a panel below it. Escape, or a click outside, closes the panel. */
export function Menu({ label, children, side = 'right' }: MenuProps) {
  const details = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    const close = (event: Event): void => {
      const element = details.current;
      if (element === null || !element.open) return;
      const isKey = event instanceof KeyboardEvent;
      if (isKey ? event.key !== 'Escape' : element.contains(event.target as Node)) return;
      element.open = false;
      if (isKey) element.querySelector('summary')?.focus();
    };
    document.addEventListener('pointerdown', close);
    document.addEventListener('keydown', close);
    return () => {
      document.removeEventListener('pointerdown', close);
      document.removeEventListener('keydown', close);
    };
  }, []);
  const shut = (event: Event): void => {
    const isChosen = (event.target as Element).closest('button, a') !== null;
    if (isChosen && details.current !== null) details.current.open = false;
  };
  return (
    <details ref={details} class="menu">
      <summary class="button">{label}</summary>
      <div class={`menu-panel ${side}`} onClick={shut}>
        {children}
      </div>
    </details>
  );
}
