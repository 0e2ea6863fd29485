const TOKEN_KEY = 'posthaste-token';

/** A tab on the same machine answers within a few milliseconds; a busy one takes longer. */
const MAX_WAIT_MS = 300;

/** What asking tabs post. Everything else on the channel is an answer. */
const QUESTION = 'token?';

/** The session token of this tab. */
export type SessionToken = {
  value: string | undefined;
  /** Forgets a refused token, so that other tabs do not get it and a reload asks them. */
  forget: () => void;
};

type Tab = {
  location: Pick<Location, 'hash' | 'pathname'>;
  history: Pick<History, 'replaceState'>;
  storage: Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>;
  /** Joins the tabs of this origin (scheme, address and port) in this browser profile, and no others. */
  channel: BroadcastChannel;
  /** Whether the command that serves the page takes the token: other tabs may be of an earlier run. */
  isAccepted: (token: string) => Promise<boolean>;
};

/**
 * The token behind the `#` of the printed link, a part that browsers send to no server; else the token of this tab from
 * before a reload; else the one of another open tab of the console that is accepted. It is kept in the session storage of this tab, so
 * that a copied address does not contain it.
 */
export async function takeSessionToken({
  location,
  history,
  storage,
  channel,
  isAccepted,
}: Tab): Promise<SessionToken> {
  const printed = new URLSearchParams(location.hash.replace(/^#/, '')).get('token');
  if (printed !== null) history.replaceState(null, '', `${location.pathname}#/`);
  const token: SessionToken = {
    value: printed ?? storage.getItem(TOKEN_KEY) ?? (await askOtherTabs(channel, isAccepted)),
    forget: () => {
      token.value = undefined;
      storage.removeItem(TOKEN_KEY);
    },
  };
  if (token.value !== undefined) storage.setItem(TOKEN_KEY, token.value);
  channel.onmessage = ({ data }: MessageEvent<unknown>) => {
    if (data === QUESTION && token.value !== undefined) channel.postMessage({ token: token.value });
  };
  return token;
}

/** Undefined if no tab answers in time with a token that is accepted. */
async function askOtherTabs(
  channel: BroadcastChannel,
  isAccepted: Tab['isAccepted'],
): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  const offered = new Map<string, Promise<void>>();
  const offer = async (token: string): Promise<void> => {
    if (await isAccepted(token)) resolve(token);
  };
  const timer = setTimeout(() => {
    void Promise.all(offered.values()).then(() => resolve(undefined));
  }, MAX_WAIT_MS);
  channel.onmessage = ({ data }: MessageEvent<unknown>) => {
    if (isAnswer(data) && !offered.has(data.token)) offered.set(data.token, offer(data.token));
  };
  channel.postMessage(QUESTION);
  const answer = await promise;
  clearTimeout(timer);
  return answer;
}

function isAnswer(data: unknown): data is { token: string } {
  return typeof data === 'object' && data !== null && 'token' in data && typeof data.token === 'string';
}
