import type { Journal } from '../../ports/journal.ts';
import { NO_DEADLINE, type CallDeadline } from '../lambda/invocation-deadline.ts';
import { RequestsUntilDeadline } from './requests.ts';
import { failureNoteFor, MAX_ATTEMPTS, RetriesUntilDeadline } from './retries.ts';

/**
 * The invocation that a client's calls belong to: its deadline, and the journal for failed requests. Both are
 * absent outside a function.
 */
export type Invocation = { deadline?: CallDeadline | undefined; journal?: Journal | undefined };

/** Where AWS is and who calls it. @default as the SDK finds it: in the environment, in a profile, from a role */
export type AwsAccess = {
  endpoint?: string;
  region?: string;
  credentials?: { accessKeyId: string; secretAccessKey: string };
};

/**
 * Options of a client. Callers outside AWS pass the SDK's options; in a function the SDK reads the environment.
 */
export type ClientOptions<Config> = Config & Invocation;

/**
 * The options of a client: requests time out, and requests and retries end before the invocation does. The given options
 * of the SDK take precedence.
 */
export function clientOptions<Options extends Invocation>(
  awsService: string,
  { deadline = NO_DEADLINE, journal, ...config }: Options,
) {
  return {
    maxAttempts: MAX_ATTEMPTS,
    retryStrategy: new RetriesUntilDeadline(MAX_ATTEMPTS, deadline, failureNoteFor(journal, awsService)),
    requestHandler: new RequestsUntilDeadline(deadline, awsService === 's3' ? 'stream' : 'bytes'),
    ...config,
  };
}

type Client = { middlewareStack: { remove: (name: string) => boolean } };

/**
 * Names in the SDK. Recursion detection stays: it sends the trace id, by which SQS and X-Ray link a message to
 * its sender.
 */
const UNUSED_MIDDLEWARE = ['loggerMiddleware', 'getUserAgentMiddleware'];

/** The client without middleware that these calls do not need, which saves a tenth of their CPU time. */
export function slim<Slimmed extends Client>(client: Slimmed): Slimmed {
  for (const name of UNUSED_MIDDLEWARE) client.middlewareStack.remove(name);
  return client;
}
