import { aMessage, aQueue, aSubscription } from '../../test/support/builders.ts';
import { pipelineWorld } from '../../test/support/in-memory/pipeline-world.ts';
import { median } from '../measured/figures.ts';

/** What deciding takes, without AWS and its SDK. */
export type TwinCost = {
  /** Of processor time, by a subscriber. */
  cpuMicroseconds: number;
  /** Of a message to all of them, at the slowest. */
  messageSeconds: number;
};

/** The step on in-memory ports. */
export const onTwins = async (fanOut: number, rounds: number): Promise<TwinCost> => {
  const world = pipelineWorld();
  await world.subscriptions.putQueue(aQueue());
  for (let index = 0; index < fanOut; index += 1)
    await world.subscriptions.addSubscription(
      aSubscription({ id: `subscription-${index}`, subscriber: `https://subscriber-${index}.test/hook` }),
    );
  const runs: { cpuMicroseconds: number; seconds: number }[] = [];
  for (let number = 0; number <= rounds; number += 1) {
    const [cpu, startedAt] = [process.cpuUsage(), performance.now()];
    await world.dispatch({ ok: true, message: aMessage({ id: `message-${number}` }) });
    const { user, system } = process.cpuUsage(cpu);
    runs.push({ cpuMicroseconds: user + system, seconds: (performance.now() - startedAt) / 1000 });
  }
  // The first is the compiler's.
  const warm = runs.slice(1);
  return {
    cpuMicroseconds: median(warm.map(({ cpuMicroseconds }) => cpuMicroseconds / fanOut)),
    messageSeconds: Math.max(...runs.map(({ seconds }) => seconds)),
  };
};
