import { App, Stack, Validations } from 'aws-cdk-lib';
import { Bucket } from 'aws-cdk-lib/aws-s3';
import { AwsSolutionsChecks } from 'cdk-nag';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { checkedVariants } from '../../infra/checked-variants.ts';
import { securityFindings } from '../../infra/security-findings.ts';
import { cdkContext } from './templates.ts';

const variants = Object.entries(checkedVariants).map(([name, settings]) => ({ name, settings }));

afterEach(() => {
  vi.restoreAllMocks();
});

type Acknowledged = { path: string; id: string; reason: string };

/** The findings without acknowledgements, and the acknowledgements. */
const unacknowledged = (settings: Readonly<Record<string, unknown>>) => {
  const acknowledged: Acknowledged[] = [];
  const of = Validations.of.bind(Validations);
  vi.spyOn(Validations, 'of').mockImplementation((scope) => {
    const validations = of(scope);
    vi.spyOn(validations, 'acknowledge').mockImplementation((...rules) => {
      acknowledged.push(...rules.map(({ id, reason }) => ({ path: scope.node.path, id, reason })));
    });
    return validations;
  });
  const findings = securityFindings(settings, cdkContext);
  vi.restoreAllMocks();
  // Leaves out acknowledgements of CDK's warnings.
  return { findings, acknowledged: acknowledged.filter(({ id }) => id.startsWith('AwsSolutions-')) };
};

describe('the stacks, checked by cdk-nag', () => {
  it.each(variants)('have no finding that is not acknowledged: $name', ({ settings }) => {
    expect(securityFindings(settings, cdkContext)).toEqual([]);
  });

  it('would have findings for a careless bucket', () => {
    const app = new App({ context: { ...cdkContext } });
    new Bucket(new Stack(app, 'Careless'), 'Bucket');
    const found = new AwsSolutionsChecks(app).validateScope(app).violations.map(({ ruleName }) => ruleName);
    expect(found).toContain('AwsSolutions-S10');
  });

  it.each(variants)('acknowledge only real findings, each with a reason: $name', ({ settings }) => {
    const { findings, acknowledged } = unacknowledged(settings);
    const unused = acknowledged.filter(
      ({ path, id }) =>
        !findings.some((finding) => finding.startsWith(`${path}/`) && finding.includes(`: ${id},`)),
    );
    expect(unused).toEqual([]);
    for (const { reason } of acknowledged) expect(reason).toMatch(/^[A-Z].{30,}\.$/);
  });
});
