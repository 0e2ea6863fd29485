import { fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { ZodType } from 'zod';
import type { Auth } from '../../shared/domain/subscription/auth.ts';
import { encodeFirstJob } from '../../shared/wire/jobs/delivery-job.ts';
import { aMessage } from '../support/builders.ts';
import { certificateAuthority } from '../support/certificates.ts';
import { allKinds, type KindName } from './kinds/all-kinds.ts';
import type { Kind } from './kinds/kind.ts';
import {
  type AttemptSeen,
  fromFunction,
  type FromFunction,
  fromReceivers,
  type FromReceivers,
  type Memory,
  type ToFunction,
  type ToReceivers,
} from './messages.ts';

/** The name of the healthy receiver. */
export const HEALTHY = 'healthy' as const;

const DATA_BYTES = 100;

type FunctionSettings = Omit<Extract<ToFunction, { kind: 'start' }>, 'kind' | 'trustedCertificates'>;

/** Child processes stop with `stack`, or when `signal` aborts. */
export type Processes = { stack: AsyncDisposableStack; signal: AbortSignal };

/** Starts hostile receivers of these kinds in one process, and a healthy one in another. */
export const startReceivers = async (processes: Processes, names: readonly KindName[]) => {
  const start = () =>
    startChild<ToReceivers, FromReceivers>(processes, 'receivers-process.ts', fromReceivers);
  const [hostile, healthy] = [start(), start()];
  hostile.send({ kind: 'start_hostile', names: [...names] });
  healthy.send({ kind: 'start_healthy' });
  const [listening, well] = await Promise.all([hostile.next('listening'), healthy.next('listening')]);
  return {
    origins: new Map(Object.entries({ ...listening.origins, ...well.origins })),
    trustedCertificate: listening.trustedCertificate,
    /** The number of connections to each receiver so far. */
    connections: async () => {
      hostile.send({ kind: 'count' });
      return (await hostile.next('connections')).counts;
    },
  };
};

export type Receivers = Awaited<ReturnType<typeof startReceivers>>;

export const startFunction = async (
  processes: Processes,
  settings: FunctionSettings,
  { trustedCertificate }: Receivers,
) => {
  const child = startChild<ToFunction, FromFunction>(processes, 'function-process.ts', fromFunction);
  const seen = attemptsSeen();
  const invocations: Extract<FromFunction, { kind: 'invocation' }>[] = [];
  child.onMessage((message) => {
    if (message.kind === 'attempt') seen.add(message);
    if (message.kind === 'invocation') invocations.push(message);
  });
  child.send({ kind: 'start', ...settings, trustedCertificates: [trustedCertificate] });
  await child.next('ready');
  const measured = (isIdle: boolean): Promise<Memory> => {
    child.send({ kind: 'measure', isIdle });
    return child.next('memory');
  };
  return {
    hand: (bodies: readonly string[]): void => {
      child.send({ kind: 'jobs', bodies: [...bodies] });
    },
    seen,
    invocations,
    /** Takes the current memory as the idle memory. */
    rest: async (): Promise<void> => {
      await measured(true);
    },
    memory: () => measured(false),
  };
};

export type FunctionUnderTest = Awaited<ReturnType<typeof startFunction>>;

/** `count` subscriptions of one receiver, `name-1`, `name-2` …, each with a different path. */
export const subscriptionsAt = (receivers: Receivers, name: KindName | typeof HEALTHY, count: number) =>
  Array.from({ length: count }, (_, index) => {
    const id = `${name}-${index + 1}`;
    const url = `${receivers.origins.get(name) ?? ''}/${id}`;
    const auth = name === HEALTHY ? undefined : authOf(allKinds[name], url);
    return { id, url, ...(auth === undefined ? {} : { auth }) };
  });

const authOf = ({ auth }: Kind, url: string): Auth | undefined => {
  if (auth === undefined) return undefined;
  return auth === 'certificate'
    ? { type: 'mtls', certificate: client.cert, private_key: client.key }
    : { type: 'oauth2_client_credentials', token_url: url, client_id: 'posthaste', client_secret: 'secret' };
};

const client = certificateAuthority('Authority of the client').issue({ names: ['client'] });

/** The body of a job to queue now, with as much data as the kind of receiver asks for. */
export const jobFor = (subscriptionId: string, name: KindName | typeof HEALTHY): string => {
  const bytes = name === HEALTHY ? DATA_BYTES : (allKinds[name].dataBytes ?? DATA_BYTES);
  const message = aMessage({ id: randomUUID(), data: JSON.stringify('x'.repeat(bytes - 2)) });
  return encodeFirstJob({
    kind: 'job',
    key: { queue: message.queue, messageId: message.id, subscriptionId, bucket: 0 },
    attempt: 1,
    acceptedAt: Date.now(),
    body: { kind: 'inline', message },
  });
};

/** The receiver of a subscription id such as `name-1`. */
const nameOf = (subscriptionId: string): string => subscriptionId.replace(/-\d+$/, '');

/** The reported attempts of a run by receiver. */
const attemptsSeen = () => {
  const byName = new Map<string, AttemptSeen[]>();
  const added = new EventEmitter();
  const of = (name: string): readonly AttemptSeen[] => byName.get(name) ?? [];

  return {
    of,
    add: (attempt: AttemptSeen): void => {
      const name = nameOf(attempt.subscriptionId);
      byName.set(name, [...of(name), attempt]);
      added.emit(name);
    },
    /** Resolves after `count` first attempts. @throws when they have not finished within `withinMs` */
    firstOf: async (name: string, count: number, withinMs: number): Promise<void> => {
      const ended = () => of(name).filter(({ number }) => number === 1).length;
      const signal = AbortSignal.timeout(withinMs);
      while (ended() < count) {
        await once(added, name, { signal }).catch((cause: unknown) => {
          const message = `${name}: ${ended()} of ${count} first attempts ended within ${withinMs} ms`;
          throw new Error(message, { cause });
        });
      }
    },
  };
};

/** A child process of a run, with its messages. */
type Child<To, From extends { kind: string }> = {
  send: (message: To) => void;
  /** Waits for the next message of a kind. @throws when the process exits first */
  next: <Kind extends From['kind']>(kind: Kind) => Promise<Extract<From, { kind: Kind }>>;
  /** Calls the listener for every message from now on. */
  onMessage: (listener: (message: From) => void) => void;
};

/** Characters of stderr that are kept for the error message. */
const MAX_STDERR = 4_000;

const startChild = <To extends object, From extends { kind: string }>(
  { stack, signal }: Processes,
  file: string,
  schema: ZodType<From>,
): Child<To, From> => {
  signal.throwIfAborted();
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), [], {
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    execArgv: ['--expose-gc'],
  });
  let stderr = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr = `${stderr}${text}`.slice(-MAX_STDERR);
  });
  const listeners = new Set<(message: From) => void>();
  const ended = once(child, 'exit');
  child.on('message', (message) => {
    const parsed = schema.parse(message);
    for (const listener of listeners) listener(parsed);
  });
  const stop = async (): Promise<void> => {
    child.kill('SIGKILL');
    await ended;
  };
  stack.defer(stop);
  signal.addEventListener('abort', () => void stop(), { once: true });

  return {
    send: (message) => child.send(message),
    next: (kind) =>
      new Promise((resolve, reject) => {
        const listener = (message: From): void => {
          if (!isOf(kind, message)) return;
          listeners.delete(listener);
          resolve(message);
        };
        listeners.add(listener);
        void ended.then(() => {
          reject(new Error(`${file} exited before it sent “${kind}”. ${stderr}`));
        });
      }),
    onMessage: (listener) => void listeners.add(listener),
  };
};

const isOf = <From extends { kind: string }, Kind extends From['kind']>(
  kind: Kind,
  message: From,
): message is Extract<From, { kind: Kind }> => message.kind === kind;
