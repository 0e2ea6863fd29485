import * as z from 'zod';
import {
  type AttemptTrigger,
  type Phase,
  type Outcome,
  PHASES,
  ATTEMPT_TRIGGERS,
  OUTCOMES,
} from '../../domain/vocabulary.ts';
import type { Attempt } from '../../domain/delivery/attempt.ts';
import { lengthened, shortened } from './record.ts';

const names = {
  number: 'n',
  round: 'r',
  phase: 'p',
  by: 'b',
  dueAt: 'u',
  startedAt: 's',
  durationMs: 'd',
  outcome: 'o',
  statusCode: 'c',
  error: 'e',
  snippet: 'x',
  lost: 'l',
  subscriptionChangedAt: 'v',
} as const satisfies Record<keyof Attempt, string>;

const phaseCodes = {
  initial: '1',
  immediate: 'i',
  pre_backoff: 'pre',
  backoff: 'b',
  post_backoff: 'post',
  manual: 'm',
} as const satisfies Record<Phase, string>;

const byCodes = {
  same_invocation: 'i',
  sqs_delay: 'q',
  scheduler: 's',
  reconcile: 'r',
} as const satisfies Record<AttemptTrigger, string>;

const outcomeCodes = { delivered: 'd', failed: 'f', rejected: 'r' } as const satisfies Record<
  Outcome,
  string
>;

/** The word that a code stands for; an unknown code stays, and the schema behind it says so. */
function wordFor(codes: Readonly<Record<string, string>>) {
  return (code: unknown): unknown => Object.entries(codes).find(([, known]) => known === code)?.[0] ?? code;
}

const attemptFields = {
  number: z.number(),
  round: z.number().default(1),
  phase: z.preprocess(wordFor(phaseCodes), z.enum(PHASES)),
  by: z.preprocess(wordFor(byCodes), z.enum(ATTEMPT_TRIGGERS)).exactOptional(),
  dueAt: z.number().exactOptional(),
  startedAt: z.number(),
  durationMs: z.number(),
  outcome: z.preprocess(wordFor(outcomeCodes), z.enum(OUTCOMES)),
  statusCode: z.number().exactOptional(),
  error: z.string().exactOptional(),
  snippet: z.string().exactOptional(),
  lost: z.number().exactOptional(),
  subscriptionChangedAt: z.number().exactOptional(),
} satisfies Record<keyof Attempt, z.ZodType>;

/** About 60 bytes without texts, so that the whole default policy fits into a kilobyte or two. */
export function attemptItemOf({ round, ...attempt }: Attempt): Record<string, unknown> {
  return shortened(names, {
    ...attempt,
    round: round === 1 ? undefined : round,
    phase: phaseCodes[attempt.phase],
    by: attempt.by === undefined ? undefined : byCodes[attempt.by],
    outcome: outcomeCodes[attempt.outcome],
  });
}

export const attemptItemSchema = z
  .record(z.string(), z.unknown())
  .transform((item) => lengthened(names, item))
  .pipe(z.object(attemptFields));
