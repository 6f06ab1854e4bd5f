import { useState } from 'preact/hooks';

/** Copies a text. Without TLS, browsers offer no clipboard API: a temporary text field serves. */
export function CopyButton({ text, label = 'Copy' }: { readonly text: string; readonly label?: string }) {
  const [isDone, setDone] = useState(false);
  const copy = (): void => {
    void copyText(text).then((done) => {
      setDone(done);
      setTimeout(() => setDone(false), 1500);
    });
  };
  return (
    <button type="button" class="button quiet small" onClick={copy} aria-live="polite">
      {isDone ? 'Copied' : label}
    </button>
  );
}

async function copyText(text: string): Promise<boolean> {
  if (navigator.clipboard !== undefined) {
    return navigator.clipboard.writeText(text).then(
      () => true,
      () => false,
    );
  }
  const area = document.createElement('textarea');
  area.value = text;
  document.body.append(area);
  area.select();
  const done = document.execCommand('copy');
  area.remove();
  return done;
}
