import { render } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { goTo, hrefTo, useRoute } from './parts/route.js';
import { currentVisitor, signIn, signOut, type Visitor } from './server/server.js';
import { Shell } from './app/shell.js';
import { SignIn } from './app/sign-in.js';
import { Views } from './app/views.js';
import { Failure } from './parts/notice.js';
import { forgetRecent } from './search/recent.js';

type Who =
  | { readonly state: 'unknown' }
  | { readonly state: 'lost'; readonly error: Error }
  | { readonly state: 'out'; readonly problem?: string }
  | { readonly state: 'in'; readonly visitor: Visitor };

/** Renders the views for a signed-in or open visitor, the sign-in page otherwise. */
function App() {
  const route = useRoute();
  const [who, setWho] = useState<Who>({ state: 'unknown' });
  useEffect(() => {
    void enter(route.view === 'enter' ? route.rest[0] : undefined).then(setWho);
  }, []);
  const leave = (): void => {
    const isOpen = who.state === 'in' && who.visitor.is_open;
    // An open visitor has no session to end.
    if (isOpen) return setWho({ state: 'out' });
    forgetRecent();
    void signOut().then(() => setWho({ state: 'out' }));
  };
  if (who.state === 'unknown')
    return (
      <p class="loading" role="status">
        Loading…
      </p>
    );
  if (who.state === 'lost') return <Failure error={who.error} />;
  if (who.state === 'out') {
    return (
      <SignIn
        onSignedIn={(visitor) => setWho({ state: 'in', visitor })}
        {...(who.problem !== undefined && { problem: who.problem })}
      />
    );
  }
  return (
    <Shell visitor={who.visitor} route={route} onSignOut={leave}>
      <Views visitor={who.visitor} route={route} />
    </Shell>
  );
}

/**
 * Signs in.
 * @param link token of a link that the command line printed. The function removes it from the address at once
 */
async function enter(link: string | undefined): Promise<Who> {
  try {
    if (link !== undefined) {
      goTo(hrefTo(['search']));
      return { state: 'in', visitor: await signIn({ link }) };
    }
    const visitor = await currentVisitor();
    return visitor === null ? { state: 'out' } : { state: 'in', visitor };
  } catch (error) {
    return link === undefined
      ? { state: 'lost', error: error as Error }
      : { state: 'out', problem: (error as Error).message };
  }
}

render(<App />, document.getElementById('console') as HTMLElement);
