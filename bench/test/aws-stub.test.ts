import { describe, expect, it } from 'vitest';
import { dynamoStub, updated } from '../harness/stub-dynamo.ts';

function text(S: string) {
  return { S };
}

describe('the stub of DynamoDB', () => {
  it('sets, appends and removes as an update of ours says', () => {
    expect(
      updated(
        { attempts: { L: [text('first')] }, lease: text('mine'), status: text('pending') },
        {
          UpdateExpression:
            'SET #status = :v4, #w = :v10, #attempts = list_append(#attempts, :v9) REMOVE #lease, #next',
          ExpressionAttributeValues: {
            ':v4': text('delivered'),
            ':v9': { L: [text('second')] },
            ':v10': text('mark'),
          },
        },
      ),
    ).toEqual({
      attempts: { L: [text('first'), text('second')] },
      status: text('delivered'),
      w: text('mark'),
    });
  });

  it('answers an update with the claim it follows, and forgets it once it is delivered', () => {
    const stub = dynamoStub();
    const Key = { pk: text('orders#1#0'), sk: text('DELIVERY#a') };
    stub.answer('PutItem', { Item: { ...Key, status: text('pending') } });
    const setting = (name: string, value: string) =>
      stub.answer('UpdateItem', {
        Key,
        UpdateExpression: `SET #${name} = :v0`,
        ExpressionAttributeValues: { ':v0': text(value) },
      });
    expect(setting('x', 'y')).toEqual({ Attributes: { ...Key, status: text('pending'), x: text('y') } });
    expect(setting('status', 'delivered')).toEqual({
      Attributes: { ...Key, status: text('delivered'), x: text('y') },
    });
    expect(setting('z', 'y')).toEqual({ Attributes: { ...Key, z: text('y') } });
  });
});
