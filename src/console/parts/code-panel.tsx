import { useState } from 'preact/hooks';
import { CopyButton } from './copy.js';

/** The request in one language. */
export interface Snippet {
  readonly language: string;
  readonly code: string;
}

/** Panel "As code": the request of this page, to copy into a shell or a program. */
export function CodePanel({ snippets }: { readonly snippets: readonly Snippet[] }) {
  const [language, setLanguage] = useState(snippets[0].language);
  const { code } = snippets.find((each) => each.language === language) ?? snippets[0];
  return (
    <details class="code-panel">
      <summary>As code</summary>
      <div class="code-head">
        <div class="segments" role="group" aria-label="Language">
          {snippets.map((each) => (
            <button
              key={each.language}
              type="button"
              aria-pressed={each.language === language}
              onClick={() => setLanguage(each.language)}
            >
              {each.language}
            </button>
          ))}
        </div>
        <CopyButton text={code} />
      </div>
      <pre tabIndex={0} data-language={language}>
        {code}
      </pre>
    </details>
  );
}
