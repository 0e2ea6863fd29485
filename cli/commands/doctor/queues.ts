import type { ApiClient } from '../../../api-client/api-client.ts';
import { getStatistics, listQueues, listSubscriptions } from '../../../api-client/operations.ts';
import { ApiRefusal, isNotFound, orElse } from '../../../api-client/refusal.ts';
import { whyUnmatched } from '../../../api-client/unmatched.ts';
import { counted } from '../../../api-client/words.ts';
import { commandText } from '../../../local/command-name.ts';
import { inParallel } from '../../../shared/adapters/in-parallel.ts';
import { DAY_MS } from '../../../shared/domain/duration.ts';
import { timeText } from '../../../shared/wire/fields.ts';
import type { SubscriptionView } from '../../../shared/wire/views/subscription.ts';
import { countsText } from '../../output/text.ts';

/** Each takes a request for each check. */
const MAX_QUEUES = 1_000;

/** Subscriptions of a queue that are looked at: one page. */
const MAX_SUBSCRIPTIONS = 100;

/** Requests at a time. */
const SIDE_BY_SIDE = 8;

/** Queues that are named. */
const MAX_NAMED = 10;

/** A finding: a notice, because producers or subscribers are at fault, not the deployment. */
type Said = { state: 'ok' | 'notice' | 'notShown'; detail: string; advice?: string };

/** What a check says of a queue. Undefined: it is as it should be. */
type Read = (queue: string, look: Look) => Promise<{ detail: string } | 'not_counted' | undefined>;

/** `states`: read once for the checks on subscriptions. */
type Look = { api: ApiClient; signal: AbortSignal; states: Map<string, ReturnType<typeof readStates>> };

type Check = { check: string; when?: string; read: Read; advise: (queue: string) => string };

const CHECKS: readonly Check[] = [
  {
    check: 'unmatched messages',
    when: ' in the last 24 hours',
    read: readUnmatched,
    advise: (queue) =>
      `See them: ${commandText(`find 1d --queue ${queue}`)}. Correct the queue's name where they are published, or subscribe and send them ` +
      '(docs/ingress.md, "What matches nothing").',
  },
  subscriptionCheck('failing subscriptions', ['failing']),
  subscriptionCheck('stopped subscriptions', ['disabled', 'paused']),
];

/** Names queues whose messages match nothing, and those with subscriptions that fail or get no requests. */
export async function examineQueues(api: ApiClient, signal: AbortSignal) {
  const listed = api.items(listQueues, { most: MAX_QUEUES, signal });
  const look: Look = { api, signal, states: new Map() };
  return Promise.all(
    CHECKS.map(async ({ check, when = '', read, advise }) => {
      const said = listed.then(async ({ items, more }): Promise<Said> => {
        const found = await inParallel(items, SIDE_BY_SIDE, async ({ name: queue }) => {
          const said = await read(queue, look);
          return typeof said === 'object' ? { queue, ...said } : said;
        });
        const of = more ? ` of the first ${counted(items.length, 'queue', 'queues')}` : '';
        return describe(found, { of, when, advise });
      });
      const refused = said.catch((error: unknown): Said => {
        if (error instanceof ApiRefusal) return { state: 'notShown', detail: error.message };
        throw error;
      });
      return { check, ...(await refused) };
    }),
  );
}

async function readUnmatched(...[queue, { api, signal }]: Parameters<Read>): ReturnType<Read> {
  const query = { since: timeText(Date.now() - DAY_MS), step: 3600 } as const;
  const asked = api.call(getStatistics, { path: { queue }, query, signal });
  // Deleted meanwhile.
  const statistics = await asked.catch(orElse(isNotFound, undefined));
  if (statistics === undefined) return undefined;
  if (!statistics.enabled) return 'not_counted';
  const why = whyUnmatched(statistics.points);
  const messages = counted(statistics.total.messages, 'message', 'messages');
  return why === undefined ? undefined : { detail: `${messages}: ${why}` };
}

type State = 'disabled' | 'paused' | 'failing';

function subscriptionCheck(check: string, wanted: readonly State[]): Check {
  const read: Read = async (queue, look) => {
    const reading = look.states.get(queue) ?? readStates(queue, look);
    look.states.set(queue, reading);
    const { states, of } = await reading;
    const found = wanted.flatMap((state) => {
      const { length } = states.filter((one) => one === state);
      return length === 0 ? [] : [[state, length] as const];
    });
    return found.length === 0 ? undefined : { detail: `${countsText(Object.fromEntries(found))}${of}` };
  };
  return { check, read, advise: (queue) => `See them: ${commandText(`subscription list ${queue}`)}` };
}

/** `of`: which subscriptions were looked at, if not all. */
async function readStates(queue: string, { api, signal }: Look): Promise<{ states: State[]; of: string }> {
  const asked = api.items(listSubscriptions, { path: { queue }, most: MAX_SUBSCRIPTIONS, signal });
  const { items, more } = await asked.catch(orElse(isNotFound, { items: [], more: false }));
  return {
    states: items.flatMap((view) => stateOf(view) ?? []),
    of: more ? ` of the first ${MAX_SUBSCRIPTIONS}` : '',
  };
}

function stateOf({ disabled, paused, failing }: SubscriptionView): State | undefined {
  if (disabled !== undefined) return 'disabled';
  if (paused !== undefined) return 'paused';
  return failing && 'failing';
}

/** `of`: which queues were looked at, if not all. */
function describe(
  read: readonly ({ queue: string; detail: string } | 'not_counted' | undefined)[],
  { of, when, advise }: { of: string; when: string; advise: (queue: string) => string },
): Said {
  if (read.includes('not_counted'))
    return { state: 'notShown', detail: 'the setting queueStatistics is off' };
  const found = read.flatMap((one) => (typeof one === 'object' ? one : []));
  const [first] = found;
  if (first === undefined) return { state: 'ok', detail: `none${when}${of}` };
  const named = found.slice(0, MAX_NAMED).map(({ queue, detail }) => `${queue} (${detail})`);
  const others = found.length > MAX_NAMED ? [`${found.length - MAX_NAMED} more`] : [];
  const queues = counted(found.length, 'queue', 'queues');
  return {
    state: 'notice',
    detail: `${queues}${of}${when}: ${[...named, ...others].join(', ')}`,
    advice: advise(first.queue),
  };
}
