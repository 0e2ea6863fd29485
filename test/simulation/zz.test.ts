import { it } from 'vitest';
import { generateScenario } from './generate-scenario.ts';
import { runScenario } from './run-scenario.ts';
it('x', async () => {
  for (const seed of [7668, 8209, 10198, 11985]) {
    const { findings, world } = await runScenario(generateScenario(seed), { trace: true } as never);
    for (const one of findings) console.log(seed, JSON.stringify(one).slice(0, 300));
    const subject = findings.at(-1)?.subject ?? '';
    console.log(world.history.writes.filter(({ delivery }) => delivery === subject || subject.includes(delivery)).slice(-6).map(({ at, transition, after }) => `${at} ${transition.name} ${after.status} n${after.attempts.length} due ${after.next?.dueAt} slot ${after.slot?.at} od ${after.overdueAt} exp ${after.expiresAt}`).join('\n'));
    console.log(JSON.stringify(world.scenario.subscriptions.map(({ id, maxPerSecond }) => [id, maxPerSecond])), JSON.stringify(world.scenario.messages.map(({ id, ttlSeconds }) => [id, ttlSeconds]).slice(0, 8)));
  }
}, 60_000);
