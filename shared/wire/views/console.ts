import * as z from 'zod';

/** Failures that the console's local server reports, in addition to the API's error codes. */
export const consoleFailureCodes = [
  /** The page has no token, or one of an earlier run of the command. */
  'token_refused',
  /** The request does not come from the page, or the caller has no permission. */
  'forbidden',
  'no_deployment',
  'no_credentials',
  'credentials_expired',
  /** The API requires a valid bearer token. */
  'unauthorized',
  /** API Gateway throttled the request before it had any effect. */
  'too_many_requests',
  /** API Gateway responds, but the function behind it does not. */
  'unavailable',
  'unreachable',
  'timeout',
] as const;

export type ConsoleFailureCode = (typeof consoleFailureCodes)[number];

/** Environment of the console page: `GET /api-local/info`. */
export const consoleInfoSchema = z.object({
  /** Display name. Null: no deployment; only features that need none work. */
  deployment: z.string().nullable(),
  region: z.string().nullable(),
  /** Version of the deployment; null if unknown. */
  version: z.string().nullable(),
  commandVersion: z.string(),
  apiUrl: z.string().exactOptional(),
  /** Whether this is the local deployment (`npm start`). */
  isLocal: z.boolean(),
  /** How often to poll (docs/retry-policy.md#the-poll-interval). */
  pollInterval: z.object({
    floorSeconds: z.number().positive(),
    ceilingSeconds: z.number().positive(),
    exponent: z.number().min(1),
  }),
  /** Why the deployment or its version is unknown. */
  problem: z.object({ code: z.string(), message: z.string() }).exactOptional(),
});

export type ConsoleInfo = z.infer<typeof consoleInfoSchema>;
