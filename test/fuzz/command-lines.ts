import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { programWith } from '../../cli/run-command.ts';
import { terminalIn } from '../../cli/terminal.ts';
import { awsStub } from '../support/aws-stub.ts';
import { ANY_KEYS, captured, leavesOf, posthaste } from '../unit/cli/run-command.ts';
import { awsEnvironment, plainEnvironment } from '../../local/local-aws.ts';
import { nasty, nearly } from './input.ts';
import { subscription } from './requests.ts';
import { apiWithCredentials } from './routes.ts';
import { target, type Target } from './target.ts';

/**
 * These start programs, or work until they are stopped on what the machine has; `subscription test` waits 20 s for an
 * attempt, which nothing makes here. Their own tests give them input.
 */
const NOT_RUN: ReadonlySet<string> = new Set(['start', 'console', 'worker', 'subscription test']);

/** These write files, or look for the deployment of this machine. */
const NOT_GIVEN: ReadonlySet<string> = new Set(['--local', '--output', '--out', '--junit', '--yes']);

const value = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.constantFrom('orders', 'id-1', 'message-1', '-', '1', '5', '1h', '90s', 'exhausted'),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom('https://a.example/9', 'http://127.0.0.1:9/', 'pull:x', '503x3,200'),
  },
  { weight: 1, arbitrary: nearly(['2026-11-21 14:00', '{"minimum_delay": 2}', '{"data":{"a":[1]}}']) },
  { weight: 2, arbitrary: nasty },
);

const argumentsOf = ({ words, command }: ReturnType<typeof leavesOf>[number]): fc.Arbitrary<string[]> => {
  const flags = command.options.flatMap(({ long, flags: form }) =>
    typeof long !== 'string' || NOT_GIVEN.has(long) ? [] : [{ long, takesValue: /[<[]/.test(form) }],
  );
  const option =
    flags.length === 0
      ? fc.constant<string[]>([])
      : fc
          .tuple(fc.constantFrom(...flags), value)
          .map(([{ long, takesValue }, given]) => (takesValue ? [long, given] : [long]));
  const count = command.registeredArguments.filter(({ required }) => required).length;
  return fc
    .tuple(
      fc.array(usualArgument, { minLength: count, maxLength: count }),
      fc.array(option, { maxLength: 3 }),
      fc.oneof({ weight: 5, arbitrary: fc.constant<string[]>([]) }, fc.array(nasty, { maxLength: 2 })),
    )
    .map(([positional, options, more]) => [...words, ...positional, ...options.flat(), ...more]);
};

const usualArgument = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom('orders', 'id-1', 'message-1') },
  { weight: 2, arbitrary: value },
);

/** Faults of the code that are reported as if they were of the user. */
const OUR_FAULT =
  /\n\s+at .+:\d+:\d+|Cannot (?:read|set|convert|destructure)|is not (?:a function|iterable|defined)|call stack/;

/** CloudFormation is read by POST, to find the deployment. */
const READING_STACKS = 'Action=DescribeStacks&';

const INTERRUPT_MS = 100;

/** Every command with arguments that are nearly valid: it ends, without a stack trace, and does nothing if they are wrong. */
export const commandLines: Target = {
  name: 'command lines',
  weight: 0.25,
  run: async (options) => {
    const { fetch } = await apiWithCredentials();
    const stub = await awsStub(async ({ method, path, headers: { authorization }, body }) => {
      const response = await fetch(new URL(path, 'https://api.invalid'), {
        method,
        ...(authorization !== undefined && { headers: { authorization } }),
        ...(method !== 'GET' && { body }),
      });
      return {
        status: response.status,
        headers: Object.fromEntries(response.headers),
        body: await response.text(),
      };
    });
    const url = stub.config.endpoint;
    const env = { ...plainEnvironment(), ...awsEnvironment(url, ANY_KEYS), POSTHASTE_API_URL: url };
    const leaves = leavesOf(await programWith(() => true, terminalIn(captured()))).filter(
      ({ words }) => !NOT_RUN.has(words.join(' ')),
    );
    const input = fc.record({
      args: fc.oneof(
        { weight: 12, arbitrary: fc.constantFrom(...leaves).chain(argumentsOf) },
        {
          weight: 1,
          arbitrary: fc.array(fc.oneof(nasty, fc.constantFrom('queue', '--help')), { maxLength: 4 }),
        },
        { weight: 1, arbitrary: fc.array(value).map((words) => ['complete', '--', ...words]) },
      ),
      stdin: fc.oneof(
        nasty,
        subscription.map((one) => JSON.stringify(one)),
      ),
    });
    // The library for completions prints by itself. Node's test runner, which has mocks, keeps something of each command.
    const { log } = console;
    Object.assign(console, { log: () => undefined });
    try {
      return await target(commandLines.name, input, async ({ args, stdin }) => {
        stub.requests.length = 0;
        let timer: NodeJS.Timeout | undefined;
        const { status, stderr } = await posthaste(args, {
          env,
          onStart: (running) => {
            running.stdin.end(stdin);
            timer = setInterval(() => {
              try {
                running.interrupt();
              } catch {
                // The command ends by itself.
              }
            }, INTERRUPT_MS);
          },
        });
        clearInterval(timer);
        assert([0, 1, 2, 130].includes(status), `status ${status}`);
        assert(!OUR_FAULT.test(stderr), stderr);
        if (status !== 2) return true;
        assert.deepEqual(
          stub.requests.filter(({ method, body }) => method !== 'GET' && !body.startsWith(READING_STACKS)),
          [],
          'a request was sent',
        );
        return false;
      }).run(options);
    } finally {
      Object.assign(console, { log });
      await stub.close();
    }
  },
};
