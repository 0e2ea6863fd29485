import { describe, expect, it } from 'vitest';
import { resourcesOf, statementsAt, templatesFor } from './templates.ts';

const FUNCTION = 'AWS::Lambda::Function';
const { pipeline } = templatesFor();
const functions = ['Dispatch', 'Deliver', 'Reconcile', 'Operate', 'Api', 'Secrets'].map((name) => ({
  path: `Pipeline${name}`,
}));

describe('tracing', () => {
  const { pipeline: traced } = templatesFor({ tracing: true });
  const modesIn = (template: typeof pipeline) =>
    [...resourcesOf(template, FUNCTION).values()].map(({ Properties }) => Properties['TracingConfig']);
  const mayTrace = (template: typeof pipeline, path: string): unknown[] =>
    statementsAt(template, `${path}RoleDefaultPolicy`)
      .filter(({ actions }) => actions.some((action) => action.startsWith('xray:')))
      .map(({ actions, resources }) => ({ actions: actions.toSorted(), resources }));

  it('is off by default, and no function may send traces', () => {
    expect(modesIn(pipeline)).toEqual(functions.map(() => undefined));
    for (const { path } of functions) expect(mayTrace(pipeline, path)).toEqual([]);
  });

  it('covers all functions and grants their roles the two actions that it needs', () => {
    expect(modesIn(traced)).toEqual(functions.map(() => ({ Mode: 'Active' })));
    const calls = ['xray:PutTelemetryRecords', 'xray:PutTraceSegments'];
    for (const { path } of functions)
      expect(mayTrace(traced, path)).toEqual([{ actions: calls, resources: ['*'] }]);
  });
});
