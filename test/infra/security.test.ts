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

/** The findings as they are without any acknowledgement, and the acknowledgements that were made. */
const bare = (settings: Readonly<Record<string, unknown>>) => {
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
  // Those of CDK itself are about its own advice.
  return { findings, acknowledged: acknowledged.filter(({ id }) => id.startsWith('AwsSolutions-')) };
};

describe('the stacks, by the rules of cdk-nag', () => {
  it.each(variants)('have nothing against them that is not acknowledged: $name', ({ settings }) => {
    expect(securityFindings(settings, cdkContext)).toEqual([]);
  });

  it('would be refused for what is not acknowledged', () => {
    const app = new App({ context: { ...cdkContext } });
    new Bucket(new Stack(app, 'Careless'), 'Bucket');
    const found = new AwsSolutionsChecks(app).validateScope(app).violations.map(({ ruleName }) => ruleName);
    expect(found).toContain('AwsSolutions-S10');
  });

  it.each(variants)(
    'acknowledge each finding for a reason of its own, and no others: $name',
    ({ settings }) => {
      const { findings, acknowledged } = bare(settings);
      const unused = acknowledged.filter(
        ({ path, id }) =>
          !findings.some((finding) => finding.startsWith(`${path}/`) && finding.includes(`: ${id},`)),
      );
      expect(unused).toEqual([]);
      for (const { reason } of acknowledged) expect(reason).toMatch(/^[A-Z].{30,}\.$/);
    },
  );
});
