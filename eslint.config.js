import tseslint from 'typescript-eslint';

const unsafeAssertions = {
  '@typescript-eslint/consistent-type-assertions': ['error', { assertionStyle: 'never' }],
};

export default tseslint.config(
  { ignores: ['node_modules', '.local', 'cdk.out', 'coverage'] },
  {
    files: ['**/*.{ts,tsx}'],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: {
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: false, requireDefaultForNonUnion: true },
      ],
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/consistent-type-definitions': 'off',
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      // An exhaustive switch over a union counts as one decision: it is a table, not a tangle.
      complexity: ['error', { max: 8, variant: 'modified' }],
      'max-depth': ['error', 3],
      'max-params': ['error', 4],
      'max-lines': ['error', 250],
      eqeqeq: 'error',
      'no-console': 'error',
    },
  },
  {
    files: ['shared/**/*.ts', 'functions/**/*.ts'],
    rules: {
      ...unsafeAssertions,
      'no-restricted-syntax': [
        'error',
        {
          selector:
            'ImportDeclaration[source.value="zod"][importKind="value"] > ImportSpecifier[imported.name="z"]',
          message: 'Write "import * as z": the named import puts 360 KB of languages into every bundle.',
        },
        {
          selector:
            'ClassDeclaration[superClass.name=/Error$/]:not(:has(ClassBody > PropertyDefinition[key.name="name"]))',
          message: 'An error names itself: a bundle has no names of classes.',
        },
      ],
      'no-restricted-properties': [
        'error',
        {
          object: 'process',
          property: 'env',
          message: 'Only shared/config/environment.ts reads the environment.',
        },
      ],
    },
  },
  {
    // What producers and subscribers wrote is shown, never interpreted.
    files: ['console/**/*.{ts,tsx}'],
    rules: {
      ...unsafeAssertions,
      'no-restricted-syntax': [
        'error',
        {
          selector:
            'JSXAttribute[name.name="dangerouslySetInnerHTML"], MemberExpression[property.name=/^(innerHTML|outerHTML|insertAdjacentHTML)$/]',
          message: 'Text stays text.',
        },
      ],
    },
  },
  {
    // Constructs are classes that are instantiated for their effect on the tree.
    files: ['infra/**/*.ts', 'examples/**/*.ts', 'test/infra/**/*.ts'],
    rules: { '@typescript-eslint/no-extraneous-class': 'off', 'no-new': 'off' },
  },
  { files: ['shared/config/environment.ts'], rules: { 'no-restricted-properties': 'off' } },
  {
    // Types of Node.js are there for what the page shares with the command; what they describe is not, in a browser.
    files: ['console/src/**/*.{ts,tsx}'],
    rules: {
      'no-restricted-globals': ['error', 'Buffer', 'process', 'global', 'require'],
    },
  },
  { files: ['cli/**/*.ts', 'local/**/*.ts', 'bench/**/*.ts'], rules: { 'no-console': 'off' } },
  {
    files: ['**/*.{js,mjs,cjs}'],
    rules: {
      complexity: ['error', 8],
      'max-depth': ['error', 3],
      'max-params': ['error', 4],
      'max-lines': ['error', 250],
    },
  },
);
