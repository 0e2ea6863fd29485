import { describe, expect, it } from 'vitest';
import { deploymentsIn, outputsOfApp } from '../../../local/deployment-outputs.ts';

const construct = (path: string, name: string) => ({
  [`${path}PosthasteDeployment0A1B2C3D`]: name,
  [`${path}ApiUrl4E5F6789`]: `api of ${name}`,
});

describe('the outputs of the app of a start', () => {
  it('are those below its construct, by their plain names', () => {
    const stacks = [
      { ApiUrl: 'of another construct' },
      { Url: 'of the shop', ...construct('ShopWebhooks', 'Shop') },
    ];
    expect(outputsOfApp(stacks)).toMatchObject({ ApiUrl: 'api of Shop' });
  });

  it('are found below the id Default, which CDK leaves out together with the hash', () => {
    const stack = { PosthasteDeployment: 'Shop', ApiUrl: 'api of Shop' };
    expect(deploymentsIn([stack])).toEqual([{ name: 'Shop', outputs: stack, stack }]);
  });

  it('do not exist without a deployment, and are ambiguous with several', () => {
    expect(() => outputsOfApp([{ Url: 'of the shop' }])).toThrow(/no deployment of Posthaste/);
    const several = [{ ...construct('Webhooks', 'Shop'), ...construct('Hooks', 'Bank') }];
    expect(() => outputsOfApp(several)).toThrow(/several deployments of Posthaste \(Shop, Bank\)/);
  });
});
