import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { answerOf, callApi, finishedDeliveries, putQueue } from '../support/api-client.ts';
import { NO_RETRIES } from '../support/builders.ts';
import { commandEnvironment } from '../support/deployed-command.ts';
import { startReceiver } from '../support/receiver.ts';
import { posthaste } from '../unit/cli/run-command.ts';

const runbook = readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8');

/** The commands of the runbook, each once, as they are printed. */
const commands = [
  ...new Set([...runbook.matchAll(/(?<=[`\n])posthaste ([^`\n]+)/g)].map(([, command = '']) => command)),
];

/** What the runbook names: the queue, message and subscriptions of the demo of `npm start`. */
const QUEUE = 'demo';
const MESSAGE = 'order-1001-created';
/** They report by the status 1 what is wrong: deliveries that fail again, one that has ended, dead letters of other tests. */
const REPORTING = /^(?:recover start .+--wait|cancel .+|subscription test .+|doctor)$/;

/** Would take the dead letters of redrive.test.ts, which runs at the same time and covers them. */
const TAKING = /^redrive (?!.*--dry-run)/;

/** Take minutes, or a synthesised app: accept.test.ts and upgrade.test.ts run them. */
const ELSEWHERE = /^(?:accept|upgrade)\b/;

/** They look at the same SQS queues, and so hide messages from each other. */
const ON_DEAD_LETTERS = /^(?:deadletters|redrive|doctor)\b/;

const receiver = await startReceiver();

beforeAll(async () => {
  await putQueue(QUEUE, NO_RETRIES);
  for (const name of ['hopeless', 'flaky']) {
    receiver.script(`/${name}`, [{ status: 503 }]);
    const subscriber = receiver.url(`/${name}`);
    await answerOf('POST', `/v2/queues/${QUEUE}/subscriptions`, { name, subscriber });
  }
  const messages = [{ id: MESSAGE, body: { total: 1250 } }];
  await answerOf('POST', `/v2/queues/${QUEUE}/messages`, { messages });
  await finishedDeliveries(QUEUE, MESSAGE, 2);
});

afterAll(async () => {
  await callApi('DELETE', `/v2/queues/${QUEUE}`);
  await receiver.close();
});

describe('the runbook', () => {
  it('names commands that run on the local AWS as printed', async () => {
    expect(commands.length).toBeGreaterThan(15);
    const runOf = async (command: string): Promise<string[]> => {
      // Quotes as a shell takes them: nothing quoted has a blank.
      const args = [...command.replaceAll("'", '').split(' '), '--deployment', 'Posthaste'];
      const { status, stdout, stderr } = await posthaste(args, { env: commandEnvironment });
      // Tests and awaited recoveries look at the same SQS queues meanwhile.
      const isHidden = (stdout + stderr).includes('hidden by another look');
      const isRight = status === 0 || (status === 1 && (REPORTING.test(command) || isHidden));
      return isRight ? [] : [`${command}: status ${status}\n${stdout}${stderr}`];
    };
    const failed: string[] = [];
    // One after another: together they would start an instance of the API's function for each of their requests.
    const runInTurn = async (inTurn: readonly string[]): Promise<void> => {
      for (const command of inTurn) failed.push(...(await runOf(command)));
    };
    const run = commands.filter((one) => !TAKING.test(one) && !ELSEWHERE.test(one));
    const onDeadLetters = run.filter((one) => ON_DEAD_LETTERS.test(one));
    await Promise.all([runInTurn(onDeadLetters), runInTurn(run.filter((one) => !ON_DEAD_LETTERS.test(one)))]);
    expect(failed).toEqual([]);
  });
});
