import type { BenchMeans, Length } from '../harness/command.ts';
import { startApiWorld } from './api-world.ts';
import { type CallerFigures, listTogether, measureAlone, type RequestFigures, seedDeep } from './callers.ts';
import { type AckFigures, acknowledgeAmongStrangers, guessAlone, type GuessFigures } from './strangers.ts';

/** Holders of a pull token among strangers, and callers that list at once, on the local AWS. */
export type ApiFigures = {
  acks: readonly AckFigures[];
  guesses: GuessFigures;
  requests: readonly RequestFigures[];
  callers: CallerFigures;
};

const sizes = {
  full: {
    rows: [
      [20, 10],
      [100, 5],
    ],
    messages: 5_000,
  },
  short: { rows: [[20, 5]], messages: 500 },
} as const;

export async function measureApi(length: Length, means: BenchMeans): Promise<ApiFigures> {
  const world = await startApiWorld(means);
  const { rows, messages } = sizes[length];
  const acks: AckFigures[] = [];
  for (const [perSecond, seconds] of rows)
    acks.push(await acknowledgeAmongStrangers(world, { perSecond, seconds }));
  const guesses = await guessAlone(world);
  await seedDeep(world, messages);
  return { acks, guesses, requests: await measureAlone(world), callers: await listTogether(world) };
}

export function apiFaults({ acks, guesses, requests, callers }: ApiFigures): string[] {
  return [
    ...acks
      .filter(({ failed }) => failed > 0)
      .map((row) => `At ${row['acks/s']}/s ${row.failed} deliveries failed that were acknowledged.`),
    ...(guesses['reads/s'] > guesses.instances + 1
      ? ['Wrong tokens read more than once a second and instance.']
      : []),
    ...requests
      .filter((row) => row['on AWS ms'] > 1_000)
      .map(({ request, ...row }) => `${request} takes ${row['on AWS ms']} ms.`),
    ...(callers['most at once'] > callers.reserved ? ['More invocations than reserved ran at once.'] : []),
  ];
}
