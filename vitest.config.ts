import { defineConfig } from 'vitest/config';
import { compileCache } from './local/install/paths.mjs';

// Workers and the commands that tests start load the same modules: compiled once, and their types stripped once.
process.env['NODE_COMPILE_CACHE'] ??= compileCache;

/** Unit tests that measure how long something takes: away from those that take all of the processor. They mostly wait. */
const timed = [
  'test/unit/adapters/{http-subscriber*,name-resolver*,rebinding-dns,invocation-deadline,aws/{connections,clients}}.test.ts',
  'test/unit/functions/out-of-time.test.ts',
  'test/unit/cli/{listen,entry-point}.test.ts',
];

/**
 * Deployed tests that run after the others, because those would disturb them: they measure lateness on a local AWS that
 * shares a few cores, need empty dead-letter queues, or see counts that a busy system drops.
 */
const alone = [
  'test/contract/{scheduler-wake-ups,sqs-queues}.test.ts',
  'test/deployed/{back-pressure,rate-limit,redrive,retries,statistics}.test.ts',
];

/** Changes resources of the deployment, and looks through its dead letters: after all others. */
const accepting = 'test/deployed/accept.test.ts';

/** Kills every function, so no other test may use the deployment meanwhile: `npm run test:killed`. */
const killing = 'test/deployed/killed*.test.ts';

/** Pauses event sources and takes permissions away, and waits for alarms: `npm run test:alarms`. */
const alarming = 'test/deployed/alarms.test.ts';

/** Every page and form of the console, in both themes and with bad input. Too long for `npm test`. */
const everyPage = ['test/browser/{pages,bad-input,changes,forms,portal-pages}.test.ts'];

/** The console's parts without a browser. */
const inConsole = 'test/unit/console/**/*.test.ts';

/**
 * Node runs the tests as it runs the code, and strips the types itself: Vite's transformed modules take a fifth more
 * processor time. Not for what has JSX, which only Vite compiles.
 */
const byNode = { experimental: { viteModuleRunner: false, nodeLoader: false } } as const;

/** How long `expect.poll` waits for an event that comes at some time. A test fails sooner only if it says so. */
const patient = { expect: { poll: { timeout: 10_000 } } } as const;

/** Each step waits for `PATIENCE_MS` of test/support/eventually.ts at the most. */
const onDeployment = { testTimeout: 240_000, hookTimeout: 120_000 };

/** Settings of all tests in a browser. */
const inBrowser = {
  // As long as Playwright waits for an element.
  expect: { poll: { timeout: 30_000 } },
  isolate: false,
  maxWorkers: 2,
  testTimeout: 60_000,
  hookTimeout: 60_000,
} as const;

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          ...byNode,
          include: ['test/unit/**/*.test.ts', 'test/contract/in-memory*.test.ts'],
          exclude: [...timed, inConsole],
          ...patient,
          // The files of a worker share the loaded modules: loading takes longer than most tests.
          isolate: false,
          // Each loads the modules once more, which takes two seconds of a processor.
          maxWorkers: 2,
          // Most tests take milliseconds; a busy machine needs more.
          testTimeout: 20_000,
          // First: meanwhile the system for the deployed tests is deployed.
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          name: 'console',
          include: [inConsole],
          ...patient,
          isolate: false,
          // As the unit tests, beside which it runs.
          maxWorkers: 2,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          name: 'unit-timed',
          ...byNode,
          include: timed,
          ...patient,
          isolate: false,
          maxWorkers: 3,
          testTimeout: 20_000,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          // The tests of the benches: `npm run bench:check` runs them, `npm test` does not.
          name: 'bench',
          ...byNode,
          include: ['bench/test/**/*.test.ts'],
          // They compute for seconds; a busy machine needs more.
          testTimeout: 60_000,
        },
      },
      {
        test: {
          name: 'simulation',
          ...byNode,
          include: ['test/simulation/**/*.test.ts'],
          testTimeout: 120_000,
          isolate: false,
          maxWorkers: 2,
          sequence: { groupOrder: 2 },
        },
      },
      {
        test: {
          name: 'infra',
          ...byNode,
          include: ['test/infra/**/*.test.ts'],
          sequence: { groupOrder: 3 },
          // One copy of aws-cdk-lib for all files, and each deployment once: loading it takes longer than synthesising.
          isolate: false,
          maxWorkers: 1,
          // The CDK would check each template against CloudFormation's rules, as `npm run check:templates` does.
          env: { CDK_VALIDATION: 'false' },
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          name: 'deployed',
          ...byNode,
          include: ['test/contract/**/*.test.ts', 'test/deployed/**/*.test.ts'],
          exclude: ['test/contract/in-memory*.test.ts', killing, alarming, accepting, ...alone],
          globalSetup: ['test/support/deployed-system.ts'],
          // They mostly wait. One copy of the AWS clients for all files of a worker: loading them takes longer than most files.
          isolate: false,
          // Each worker loads them once: six take a twelfth more processor time and end hardly sooner.
          maxWorkers: 4,
          sequence: { groupOrder: 4 },
          ...onDeployment,
        },
      },
      {
        test: {
          name: 'deployed-alone',
          ...byNode,
          include: alone,
          globalSetup: ['test/support/deployed-system.ts'],
          isolate: false,
          maxWorkers: 3,
          sequence: { groupOrder: 5 },
          ...onDeployment,
        },
      },
      {
        test: {
          name: 'deployed-accept',
          ...byNode,
          include: [accepting],
          globalSetup: ['test/support/deployed-system.ts'],
          sequence: { groupOrder: 6 },
          ...onDeployment,
        },
      },
      {
        test: {
          name: 'killed',
          ...byNode,
          include: [killing],
          maxWorkers: 1,
          globalSetup: ['test/support/deployed-system.ts'],
          sequence: { groupOrder: 9 },
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          name: 'alarms',
          ...byNode,
          include: [alarming],
          globalSetup: ['test/support/deployed-system.ts'],
          sequence: { groupOrder: 11 },
          ...onDeployment,
        },
      },
      {
        test: {
          name: 'privileges',
          ...byNode,
          include: ['test/privileges/**/*.test.ts'],
          globalSetup: ['test/privileges/use-log-of-run.ts'],
          // It looks at what the deployed tests did, all of them.
          sequence: { groupOrder: 7 },
        },
      },
      {
        test: {
          // The console in a browser, on a stubbed API. On the deployed system it is tested among the deployed ones.
          name: 'browser',
          include: ['test/browser/**/*.test.ts'],
          exclude: everyPage,
          ...inBrowser,
          // Beside deployed tests that mostly wait, and with as many workers, as one group must.
          maxWorkers: 3,
          sequence: { groupOrder: 5 },
        },
      },
      {
        test: {
          // `npm run test:browser` runs these after the other tests in a browser.
          name: 'browser-every-page',
          include: everyPage,
          ...inBrowser,
          sequence: { groupOrder: 10 },
        },
      },
    ],
  },
});
