import * as z from 'zod';

/** Why what the console asked for did not come from the API itself. Codes of the API's own errors are beside these. */
export const consoleFailureCodes = [
  /** The page has no token, or that of another run of the command. */
  'token_refused',
  /** The request is not the page's own, or the caller may not make it. */
  'forbidden',
  'no_deployment',
  'no_credentials',
  'credentials_expired',
  /** The API wants a bearer token that it knows. */
  'unauthorized',
  /** API Gateway has reached a limit; nothing has happened yet. */
  'too_many_requests',
  /** API Gateway answers, the function behind it does not. */
  'unavailable',
  'unreachable',
  'timeout',
] as const;

export type ConsoleFailureCode = (typeof consoleFailureCodes)[number];

/** What the page knows about where it is: `GET /api-local/info`. */
export const consoleInfoSchema = z.object({
  /** For people. Null: there is none, and only what needs none works. */
  deployment: z.string().nullable(),
  region: z.string().nullable(),
  /** Of the deployment. Null where it could not be told. */
  version: z.string().nullable(),
  commandVersion: z.string(),
  apiUrl: z.string().exactOptional(),
  /** Whether it is a local start. */
  isLocal: z.boolean(),
  /** How often to look again: docs/policy.md, the poll interval. */
  pollInterval: z.object({
    floorSeconds: z.number().positive(),
    ceilingSeconds: z.number().positive(),
    exponent: z.number().min(1),
  }),
  /** Why the deployment, or its version, is not known. */
  problem: z.object({ code: z.string(), message: z.string() }).exactOptional(),
});

export type ConsoleInfo = z.infer<typeof consoleInfoSchema>;
