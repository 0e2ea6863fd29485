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
    {
      name: 'no-tests-in-product',
      severity: 'error',
      from: { pathNot: '^(test|vitest)' },
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
