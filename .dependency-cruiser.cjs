/** Import direction: functions → pipeline → domain ← ports ← adapters. See CONTRIBUTING.md. */
const only = (name, from, to, comment) => ({
  name,
  comment,
  severity: 'error',
  from: { path: from },
  to: { pathNot: to },
});

const nodeModules = (...names) => `node_modules/(${names.join('|')})/`;

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
    only(
      'ports-speak-domain',
      '^shared/ports/',
      '^shared/(ports|domain)/',
      'A port is described in domain words.',
    ),
    only(
      'pipeline-on-ports',
      '^shared/pipeline/',
      '^shared/(pipeline|domain|ports)/',
      'Steps meet the world only through ports.',
    ),
    only(
      'messages',
      '^shared/messages/',
      `^shared/(messages|domain)/|${nodeModules('zod')}|^(node:)?crypto$`,
      'Wire schemas.',
    ),
    only('config', '^shared/config/', `^shared/config/|${nodeModules('zod')}`, 'Configuration stands alone.'),
    {
      name: 'adapters',
      comment: 'An adapter implements ports; it never calls a pipeline step.',
      severity: 'error',
      from: { path: '^shared/adapters/' },
      to: { path: '^(shared/(pipeline|config/(environment|variables))|functions|infra|cli|test)' },
    },
    {
      name: 'shared-is-below',
      severity: 'error',
      from: { path: '^shared/' },
      to: { path: '^(functions|infra|cli|bench|test)/' },
    },
    {
      name: 'functions-compose',
      severity: 'error',
      from: { path: '^functions/' },
      to: { path: '^(infra|cli|bench|test)/' },
    },
    {
      name: 'infra-knows-names-only',
      comment:
        'infra knows runtime code as entry paths and by variable names; the retry policy is checked by the domain.',
      severity: 'error',
      from: { path: '^infra/' },
      to: {
        path: '^(functions|cli|bench|test|shared/(adapters|pipeline|ports|messages|config/environment))',
      },
    },
    only(
      'console-in-a-browser',
      '^console/src/',
      `^console/src/|^cli/api/|^shared/(domain|messages)/|${nodeModules('preact', 'uplot', 'zod')}`,
      'The page runs in a browser: of ours it knows values, wire schemas, and how the API is asked.',
    ),
    {
      name: 'console-is-built',
      comment: 'What serves the page knows its build, not its sources.',
      severity: 'error',
      from: { pathNot: '^(console|test)/' },
      to: { path: '^console/' },
    },
    {
      name: 'examples-are-of-infra',
      comment: 'An example uses the constructs as somebody else would, and nothing of ours needs it.',
      severity: 'error',
      from: { path: '^examples/' },
      to: { path: '^(functions|shared|cli|bench|console|test)/' },
    },
    {
      name: 'no-examples-in-product',
      severity: 'error',
      from: { pathNot: '^(examples|test)/' },
      to: { path: '^examples/' },
    },
    {
      name: 'no-tests-in-product',
      severity: 'error',
      from: { pathNot: '^(test|bench|vitest)' },
      to: { path: '^test/' },
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
