import { randomUUID } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Webhook } from 'standardwebhooks';
import { describe, expect, inject, it } from 'vitest';
import * as z from 'zod';
import { onDeployment } from '../support/deployed-command.ts';
import { deployment } from '../support/deployment.ts';
import { logLines } from '../support/log-lines.ts';
import { spellingsOf } from '../support/planted-secrets.ts';
import { receiverOfTests } from '../support/receiver-of-tests.ts';
import { publish } from '../support/sqs-messages.ts';

const receiver = await receiverOfTests();

/** Makes the command send two requests: the API accepts 500 lines in one. */
const COUNT = 501;
/** Lines whose subscriptions get the message. */
const LISTENING = [0, 499, 500];

const resultSchema = z.object({
  line: z.number(),
  result: z.string(),
  subscription_id: z.string(),
  secret: z.string().exactOptional(),
});

const importLines = async (queue: string, lines: readonly unknown[]) => {
  const input = join(inject('folder'), `${queue}-lines`);
  const output = join(inject('folder'), `${queue}-results`);
  writeFileSync(input, lines.map((line) => JSON.stringify(line)).join('\n'));
  const { status, stderr } = await onDeployment('subscription', 'import', queue, input, '--output', output);
  expect(status, stderr).toBe(0);
  const results = readFileSync(output, 'utf8').trim().split('\n');
  rmSync(output);
  return results.map((line) => resultSchema.parse(JSON.parse(line)));
};

describe('an import of hundreds of lines', () => {
  it('returns the id and signing secret of each line, and the same ids when it is repeated', async () => {
    const queue = `import-${randomUUID()}`;
    const lines = Array.from({ length: COUNT }, (_, index) => ({
      subscriber: receiver.url(`/${queue}/${index}`),
      ...(LISTENING.includes(index) ? {} : { options: { event_types: ['other'] } }),
    }));
    const imported = await importLines(queue, lines);
    expect(imported.map(({ line, result }) => ({ line, result }))).toEqual(
      lines.map((_, index) => ({ line: index + 1, result: 'imported' })),
    );
    expect(new Set(imported.map(({ secret }) => secret)).size).toBe(COUNT);

    await publish({ queue, type: 'wanted', data: 1 });
    for (const index of LISTENING) {
      const [request] = await receiver.waitFor(`/${queue}/${index}`, 1);
      const headers = z.record(z.string(), z.string()).parse(request?.headers);
      expect(() =>
        new Webhook(imported[index]?.secret ?? '').verify(request?.body ?? '', headers),
      ).not.toThrow();
    }

    expect(await importLines(queue, lines)).toEqual(
      imported.map(({ line, subscription_id }) => ({ line, result: 'unchanged', subscription_id })),
    );

    const logged = (await logLines([deployment.endpoints.functions.api]))
      .filter((line) => line.includes(queue))
      .join('\n');
    expect(logged).toContain(imported.at(-1)?.subscription_id);
    for (const { secret = '' } of imported.slice(0, 50)) {
      const bytes = Buffer.from(secret.replace('whsec_', ''), 'base64');
      expect(spellingsOf(bytes).filter((spelling) => logged.includes(spelling))).toEqual([]);
    }
  });
});
