import ts from 'typescript';

const FORMAT: ts.FormatDiagnosticsHost = {
  getCurrentDirectory: ts.sys.getCurrentDirectory,
  getCanonicalFileName: (file) => file,
  getNewLine: () => '\n',
};

/**
 * Type-checks the consumers in a folder, and the declarations of Posthaste that they load. Those of other packages are
 * not judged: aws-cdk-lib does not compile with exactOptionalPropertyTypes (aws/aws-cdk#37996).
 */
function checkTypes(folder: string): void {
  const { config } = ts.readConfigFile(`${folder}/tsconfig.json`, ts.sys.readFile);
  const { fileNames, options, errors } = ts.parseJsonConfigFileContent(config, ts.sys, folder);
  const program = ts.createProgram(fileNames, options);
  const judged = program.getSourceFiles().filter(({ fileName }) => isOurs(fileName));
  const found = [...errors, ...judged.flatMap((file) => ts.getPreEmitDiagnostics(program, file))];
  if (found.length > 0) process.exitCode = 1;
  console.log(ts.formatDiagnostics(found, FORMAT));
  console.log(`${fileNames.length} files and ${judged.length - fileNames.length} declarations type-checked`);
}

function isOurs(file: string): boolean {
  return !/\/node_modules\/(?!posthaste\/)/.test(file);
}

checkTypes(process.argv[2] ?? '');
