import { useState } from 'preact/hooks';
import { signIn, type Visitor } from '../server/server.js';

interface SignInProps {
  readonly onSignedIn: (visitor: Visitor) => void;
  /** Why the link that led here did not sign the visitor in; absent without a link. */
  readonly problem?: string;
}

/** Exchanges an API key for a cookie that scripts cannot read. The page does not store the key. */
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
        <p class="muted">Finds the homologs of a protein that sequence searches miss.</p>
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
          No key? Ask the operator of this server. <code>gloaming keys create</code> creates a key, and{' '}
          <code>gloaming console</code> prints a link that signs you in without one.
        </p>
      </form>
    </main>
  );
}

/** Returns the address of the page's icon. The build chooses the address. */
export function icon(): string {
  return document.querySelector<HTMLLinkElement>('link[rel="icon"]')?.href ?? '';
}
