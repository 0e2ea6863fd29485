import '../../console/src/zod-without-eval.ts';
import { render } from 'preact';
import { openStorage } from '../../console/src/live/storage.ts';
import { App } from './app.tsx';
import { isFramed } from './embedding.ts';
import { openSession, takeLinkToken } from './session.ts';
import './style/index.css';

const token = takeLinkToken({ location, history });
// The user opened a new link in this tab.
addEventListener('hashchange', () => {
  if (!/^#?(\/|$)/.test(location.hash)) location.reload();
});
document.documentElement.classList.toggle('framed', isFramed);
const storage = openStorage(() => sessionStorage);
const root = document.getElementById('root');
if (root !== null) render(<App open={() => openSession(token, storage)} />, root);
