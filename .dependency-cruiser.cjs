/** Import direction: functions → steps → domain ← ports ← adapters. See CONTRIBUTING.md. */
const only = (name, from, to, comment) => ({
  name,
  comment,
  severity: 'error',
  from: { path: from },
  to: { pathNot: to },
});

const nodeModules = (...names) => `node_modules/(${names.join('|')})/`;

/** Folders of the domain, lowest first: each imports those before it, and the files beside the folders. */
const upwards = (...folders) =>
  folders.map((folder, at) => ({
    name: `domain-${folder}`,
    comment:
      'The folders of the domain go one way: retry, subscription, message, event-type, delivery, recovery.',
    severity: 'error',
    from: { path: at === 0 ? '^shared/domain/(retry/|[^/]+$)' : `^shared/domain/${folder}/` },
    to: { path: `^shared/domain/(${folders.slice(at + 1).join('|') || 'none'})/` },
  }));

module.exports = {
  forbidden: [
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'no-unresolvable',
      severity: 'error',
      from: {}, // @types/aws-lambda describes a module that is nowhere: types only.
      to: { couldNotResolve: true, pathNot: '^aws-lambda$' },
    },
    only(
      'domain-is-pure',
      '^shared/domain/',
      `^shared/domain/|${nodeModules('zod')}|^(node:)?crypto$`,
      'The domain knows values only.',
    ),
    ...upwards('retry', 'subscription', 'message', 'event-type', 'delivery', 'recovery'),
    only(
      'ports-speak-domain',
      '^shared/ports/',
      '^shared/(ports|domain)/',
      'A port is described in domain words.',
    ),
    only(
      'steps-on-ports',
      '^shared/steps/',
      '^shared/(steps|domain|ports)/',
      'Steps meet the world only through ports.',
    ),
    only(
      'wire',
      '^shared/wire/',
      `^shared/(wire|domain)/|${nodeModules('zod')}|^(node:)?crypto$`,
      'Wire schemas.',
    ),
    only(
      'config',
      '^shared/config/',
      `^shared/(config|domain)/|${nodeModules('zod')}`,
      'Configuration: names, and settings whose bounds the domain knows.',
    ),
    {
      name: 'adapters',
      comment: 'An adapter implements ports; it never calls a step.',
      severity: 'error',
      from: { path: '^shared/adapters/' },
      to: { path: '^shared/(steps|config/(environment|resources|settings))' },
    },
    {
      name: 'shared-is-below',
      severity: 'error',
      from: { path: '^shared/' },
      to: { path: '^(functions|worker|infra|api-client|client|cli|local|bench|test)/' },
    },
    {
      name: 'client-stands-alone',
      comment:
        'Producers and receivers import it. test/unit/client/entry-points.test.ts looks at its packages.',
      severity: 'error',
      from: { path: '^client/' },
      to: { path: '^(functions|worker|infra|cli|local|bench|console|examples|test)/' },
    },
    {
      name: 'functions-stand-alone',
      comment:
        'What two functions need is in shared/, and the start of their compositions in functions/compose.ts.',
      severity: 'error',
      from: { path: '^functions/([^/]+)/' },
      to: { path: '^functions/', pathNot: '^functions/($1/|(compose|jitless)[.]ts$|api/)' },
    },
    {
      name: 'routes-of-the-api',
      comment: 'secrets serves some routes of the API; no other function knows them.',
      severity: 'error',
      from: { path: '^functions/(dispatch|deliver|reconcile|operate|portal)/' },
      to: { path: '^functions/api/' },
    },
    {
      name: 'handlers-compose',
      comment: 'Only compose.ts and handler.ts bring adapters and settings together with steps.',
      severity: 'error',
      from: { path: '^functions/', pathNot: '/(compose|handler|common-ports)[.]ts$' },
      to: { path: '^(shared/(adapters/|config/environment)|functions/compose[.]ts$)' },
    },
    {
      name: 'functions-are-deployed',
      severity: 'error',
      // The receiver of `posthaste accept` verifies as receivers do.
      from: { path: '^functions/', pathNot: '^functions/acceptance/' },
      to: { path: '^(worker|infra|client|cli|local|bench|test)/' },
    },
    {
      name: 'worker-runs-compositions',
      comment:
        'The second entry of the functions: it takes their steps with ports and settings, and nothing inside them.',
      severity: 'error',
      from: { path: '^worker/' },
      to: { path: '^(functions/[^/]+/(?!compose[.]ts$)|infra/|client/|cli/|local/|bench/|test/)' },
    },
    {
      name: 'infra-knows-names-only',
      comment:
        'infra knows runtime code as entry paths and by variable names; the retry policy is checked by the domain.',
      severity: 'error',
      from: { path: '^infra/' },
      to: {
        path: '^(functions|worker|client|cli|local|bench|test|shared/(adapters|steps|ports|wire|config/environment))',
      },
    },
    only(
      'console-in-a-browser',
      '^console/src/',
      `^console/src/|^api-client/|^shared/(domain/|wire/|adapters/in-parallel[.]ts$)|${nodeModules('preact', 'uplot', 'zod')}`,
      'The page runs in a browser: it imports only values, wire schemas, limits on requests and the client of the API.',
    ),
    only(
      'portal-in-a-browser',
      '^portal/src/',
      `^(portal|console)/src/|^api-client/|^shared/(domain/|wire/|adapters/in-parallel[.]ts$)|${nodeModules('preact', 'zod')}`,
      'The page of a customer is made of the parts of the console.',
    ),
    only(
      'api-client-in-a-browser',
      '^api-client/',
      `^api-client/|^shared/(domain/|wire/|adapters/in-parallel[.]ts$)|${nodeModules('leven', 'zod')}`,
      'The client of the API is for the command and for the page.',
    ),
    {
      name: 'local-is-below',
      comment: 'The command starts the local system, and never the other way round.',
      severity: 'error',
      from: { path: '^local/' },
      to: { path: '^(cli|api-client)/' },
    },
    {
      name: 'console-is-built',
      comment: 'The command and the portal serve a built page and do not import its sources.',
      severity: 'error',
      from: { pathNot: '^(console|portal|test)/' },
      to: { path: '^(console|portal)/' },
    },
    {
      name: 'examples-use-the-package',
      comment: 'An example uses the constructs, the client and verify as any app does.',
      severity: 'error',
      from: { path: '^examples/' },
      to: { path: '^(functions|worker|shared|cli|local|bench|console|test)/' },
    },
    {
      name: 'no-examples-in-product',
      severity: 'error',
      from: { pathNot: '^(examples|test)/' },
      to: { path: '^examples/' },
    },
    {
      name: 'package-is-built',
      comment: 'The product does not know how it is packed.',
      severity: 'error',
      from: { pathNot: '^(package|test)/' },
      to: { path: '^package/' },
    },
    {
      name: 'no-tests-in-product',
      severity: 'error',
      from: { pathNot: '^(test|bench|vitest)' },
      to: { path: '^(test|bench)/' },
    },
    {
      name: 'no-dev-packages-in-product',
      comment: '`npm start` and a deployment work without the devDependencies; types are erased.',
      severity: 'error',
      from: { pathNot: '^(test|bench|examples|package|vitest|oxfmt|infra/settings-docs[.]ts$)' },
      to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'no-benches-in-tests',
      severity: 'error',
      from: { pathNot: '^bench/' },
      to: { path: '^bench/' },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
      extensions: ['.ts', '.mjs', '.js', '.json'],
    },
  },
};
