import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { checkedVariants } from '../../infra/checked-variants.ts';
import { keptIn } from './stateful-resources.ts';
import { templatesFor } from './templates.ts';

/** `only`: the one variant that deploys this resource. */
const resource = z.looseObject({ type: z.string(), only: z.string().optional() });

const committed = z
  .record(z.string(), z.record(z.string(), resource))
  .parse(JSON.parse(readFileSync(new URL('stateful-resources.json', import.meta.url), 'utf8')));

const committedFor = (variant: string) =>
  Object.fromEntries(
    Object.entries(committed).map(([stack, resources]) => [
      stack,
      Object.fromEntries(
        Object.entries(resources).flatMap(([id, { only, ...kept }]) =>
          only === undefined || only === variant ? [[id, kept]] : [],
        ),
      ),
    ]),
  );

const variants = Object.entries(checkedVariants).map(([name, settings]) => ({ name, settings }));

describe('an upgrade', () => {
  it.each(variants)('replaces no resource with data: $name', ({ name, settings }) => {
    expect(
      keptIn(templatesFor(settings)),
      [
        'A logical id, or a property that cannot be changed in place, differs from test/infra/stateful-resources.json.',
        'In existing deployments, the next "cdk deploy" would replace that resource by an empty one: the old tables and',
        'bucket would be orphaned, and messages in queues and schedules would be lost.',
        'To avoid that, restore the id of the construct or the value of the property.',
        'Add new resources to the file. An intended replacement needs a migration of the data, described in CHANGELOG.md.',
      ].join('\n'),
    ).toEqual(committedFor(name));
  });

  it('updates deliver before dispatch, because the new dispatch may send jobs that the old deliver cannot read', () => {
    const functions = templatesFor({}).pipeline.findResources('AWS::Lambda::Function');
    const idOf = (name: string) =>
      Object.keys(functions).find((id) => id.includes(`Pipeline${name}Function`));
    expect(functions[idOf('Dispatch') ?? '']?.['DependsOn']).toContain(idOf('Deliver'));
  });

  it('is checked against a file with more than 20 resources', () => {
    expect(Object.values(committed).flatMap((resources) => Object.keys(resources)).length).toBeGreaterThan(
      20,
    );
  });
});
