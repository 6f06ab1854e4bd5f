import { useState } from 'preact/hooks';
import { signIn, type Visitor } from '../server/server.js';

interface SignInProps {
  readonly onSignedIn: (visitor: Visitor) => void;
  /** What became of a link, where one led here. */
  readonly problem?: string;
}

/** Exchanges an API key for a cookie that scripts cannot read. The key itself is not kept. */
export function SignIn({ onSignedIn, problem }: SignInProps) {
  const [fault, setFault] = useState(problem);
  const [isBusy, setBusy] = useState(false);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const field = new FormData(event.currentTarget as HTMLFormElement).get('key');
    setBusy(true);
    signIn({ key: String(field).trim() }).then(onSignedIn, (error: Error) => {
      setFault(error.message);
      setBusy(false);
    });
  };
  return (
    <main class="sign-in">
      <form onSubmit={submit}>
        <img src={icon()} alt="" width={56} height={56} />
        <h1>Gloaming</h1>
        <p class="muted">Finds the relatives of a protein that sequence searches miss.</p>
        <label class="field">
          <span>API key</span>
          <input
            name="key"
            type="password"
            autocomplete="current-password"
            placeholder="glm_…"
            required
            aria-invalid={fault !== undefined}
            aria-describedby="sign-in-fault"
          />
        </label>
        {fault !== undefined && (
          <p id="sign-in-fault" class="field-fault" role="alert">
            {fault}
          </p>
        )}
        <button type="submit" class="button primary" disabled={isBusy}>
          {isBusy ? 'Signing in…' : 'Sign in'}
        </button>
        <p class="small muted">
          No key? Whoever runs this server has one for you: <code>gloaming keys create</code> makes it there,
          and <code>gloaming console</code> prints a link that needs none.
        </p>
      </form>
    </main>
  );
}

/** The page's own icon, wherever the build has put it. */
export function icon(): string {
  return document.querySelector<HTMLLinkElement>('link[rel="icon"]')?.href ?? '';
}
