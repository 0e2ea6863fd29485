import type { Journal } from '../../ports/journal.ts';
import type { CallDeadline } from '../lambda/invocation-deadline.ts';

/** The part of a service's names that is in its host and in its signatures. */
export type ServiceId = 'dynamodb' | 'sqs' | 'kms';

/** Of the invocation under way; a caller outside a function has none. The journal hears of requests that are repeated. */
export type Invocation = { deadline?: CallDeadline | undefined; journal?: Journal | undefined };

/** Where a service is, and who asks it. */
export type ServiceOptions = Invocation & {
  /** URL of the service, or of each. */
  endpoint: string | Readonly<Record<ServiceId, string>>;
  region: string;
  credentials: { accessKeyId: string; secretAccessKey: string; sessionToken?: string };
  /** X-Ray's, of the invocation under way. */
  traceId?: () => string | undefined;
};
