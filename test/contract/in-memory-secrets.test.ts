import { inMemorySecrets } from '../support/in-memory/in-memory-secrets.ts';
import { describeSigningSecretsContract } from './signing-secrets.contract.ts';

describeSigningSecretsContract('in memory', () => Promise.resolve(inMemorySecrets()));
