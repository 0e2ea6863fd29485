import './zod-without-eval.ts';
import { render } from 'preact';
import { isAccepted } from './api/console-client.ts';
import { App } from './app.tsx';
import { applyTheme, chosenTheme } from './parts/theme.tsx';
import { takeSessionToken } from './session-token.ts';
import './style/index.css';

applyTheme(chosenTheme());
// The user opened a newly printed link in this tab.
addEventListener('hashchange', () => {
  if (location.hash.startsWith('#token=')) location.reload();
});
const root = document.getElementById('root');
const channel = new BroadcastChannel('posthaste-token');
const token = await takeSessionToken({ location, history, storage: sessionStorage, channel, isAccepted });
if (root !== null) render(<App token={token} />, root);
